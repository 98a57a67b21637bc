package adb

import (
	"strings"
	"testing"
)

func TestTheServerIsFoundAsAdbFindsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, explicit string
		env            map[string]string
		want           string
	}{
		{"nothing set", "", nil, "tcp:127.0.0.1:5037"},
		{"port", "", map[string]string{"ANDROID_ADB_SERVER_PORT": "5038"}, "tcp:127.0.0.1:5038"},
		{"address", "", map[string]string{"ANDROID_ADB_SERVER_ADDRESS": "10.0.0.1"}, "tcp:10.0.0.1:5037"},
		{"socket: port", "", map[string]string{"ADB_SERVER_SOCKET": "tcp:5038"}, "tcp:127.0.0.1:5038"},
		{"socket: host", "", map[string]string{"ADB_SERVER_SOCKET": "tcp:farm:5038"}, "tcp:farm:5038"},
		{"socket: IPv6", "", map[string]string{"ADB_SERVER_SOCKET": "tcp:[::1]:5038"}, "tcp:[::1]:5038"},
		{"socket: file", "", map[string]string{"ADB_SERVER_SOCKET": "localfilesystem:/run/a:b"}, "localfilesystem:/run/a:b"},
		{"socket: abstract", "", map[string]string{"ADB_SERVER_SOCKET": "localabstract:adb"}, "localabstract:adb"},
		{"socket before port", "", map[string]string{"ADB_SERVER_SOCKET": "tcp:1", "ANDROID_ADB_SERVER_PORT": "2"}, "tcp:127.0.0.1:1"},
		{"empty is not set", "", map[string]string{"ADB_SERVER_SOCKET": "", "ANDROID_ADB_SERVER_PORT": ""}, "tcp:127.0.0.1:5037"},
		{"explicit before all", "farm:9", map[string]string{"ADB_SERVER_SOCKET": "nonsense"}, "tcp:farm:9"},
		{"explicit spec", "localfilesystem:/run/adb", nil, "localfilesystem:/run/adb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := ResolveAddress(c.explicit, func(name string) string { return c.env[name] })
			if err != nil || got.String() != c.want {
				t.Errorf("ResolveAddress = %s, %v, want %s", got, err, c.want)
			}
		})
	}
	if got := (Address{}).String(); got != "tcp:127.0.0.1:5037" {
		t.Errorf("zero Address = %s, want the default", got)
	}
}

func TestABadServerAddressIsNamedAndNeverReplaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		explicit, name, value, want string
	}{
		{"farm", "", "", "adb server address"},
		{"farm:http", "", "", "adb server address"},
		{"", "ADB_SERVER_SOCKET", "tcp:", "ADB_SERVER_SOCKET"},
		{"", "ADB_SERVER_SOCKET", "vsock:1:2", "ADB_SERVER_SOCKET"},
		{"", "ADB_SERVER_SOCKET", "tcp:a:b:c", "ADB_SERVER_SOCKET"},
		{"", "ANDROID_ADB_SERVER_PORT", "0", "ANDROID_ADB_SERVER_PORT"},
		{"", "ANDROID_ADB_SERVER_PORT", "65536", "ANDROID_ADB_SERVER_PORT"},
		{"", "ANDROID_ADB_SERVER_PORT", "many", "ANDROID_ADB_SERVER_PORT"},
	} {
		got, err := ResolveAddress(c.explicit, func(name string) string {
			if name == c.name {
				return c.value
			}
			return ""
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ResolveAddress(%q, %s=%q) = %s, %v, want an error that names %s", c.explicit, c.name, c.value, got, err, c.want)
		}
	}
}

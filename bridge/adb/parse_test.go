package adb

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProcessTablesOfEachAgeAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string // what was started through adb
	}{
		"with domains": {"4100\nUSER PID PPID S LABEL NAME\n" +
			"root 1 0 S u:r:init:s0 init\nshell 300 1 S u:r:adbd:s0 adbd\nshell 1700 900 S u:r:platform_app:s0:c512 com.android.shell\n" +
			"shell 4100 300 S u:r:shell:s0 sh\nshell 4101 4100 R u:r:shell:s0 ps\n" +
			"shell 4000 1 S u:r:shell:s0 app process\nroot 4050 300 S u:r:su:s0 tcpdump\nshell 4060 1 Z u:r:shell:s0 [dead]\n" +
			"root 4070 2 S u:r:kernel:s0 [kworker/0:1]\n", []string{"4000 app process", "4050 tcpdump"}},
		"without domains": {"9\nUSER PID PPID NAME\nshell 5 1 /sbin/adbd\nshell 9 5 sh\nshell 10 1 screenrecord\nu0_a7 11 2 com.app\n", []string{"10 screenrecord"}},
		"before Android 8": {"9\r\nUSER     PID   PPID  VSIZE  RSS     WCHAN    PC        NAME\r\n" +
			"shell     10    1     12160  448   ffffffff 00000000 S logcat\r\nroot 11 2 0 0 ffffffff 00000000 S kworker\r\n", []string{"10 logcat"}},
		"nonsense": {"x\n\n[[\n", nil},
	} {
		shell, all := parseProcesses(c.text)
		var got []string
		for _, p := range strays(shell, all, nil) {
			got = append(got, p.mark())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestVitalsAreCoarseAndWhatIsNotToldIsLeftOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"": {},
		"[battery]\n  AC powered: false\n  USB powered: true\n  level: 44\n  scale: 50\n[data]\nFilesystem 1K-blocks Used Available Use% Mounted on\n" +
			"/dev/block/dm-5 100 1 13631488 1% /data\n[power]\n  mWakefulness=Dozing\n[window]\n    showing=false\n    showingAndNotOccluded=true\n": {
			"battery": "85%", "charging": "yes", "free": "13 GB", "screen": "off", "locked": "no",
		},
		"[data]\nFilesystem Size Used Free Blksize\n/data 12.0G 1G 11G 4096\n[window]\n  mShowingLockscreen=true mShowingDream=false": {"locked": "yes"},
	} {
		if diff := cmp.Diff(want, parseVitals(text)); diff != "" {
			t.Errorf("%q: -want +got\n%s", text, diff)
		}
	}
}

func TestInstrumentationsAreFoundInCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"am instrument -w -r -e debug false com.app.test/androidx.test.runner.AndroidJUnitRunner": {"com.app.test/androidx.test.runner.AndroidJUnitRunner"},
		"cd /x; nohup am instrument -w 'a.b/c.D$E' >/dev/null &":                                  {"a.b/c.D$E"},
		"am start -n a.b/.C; echo am instrument":                                                  nil,
		"cmd activity instrument -w x.y/z":                                                        {"x.y/z"},
	} {
		if diff := cmp.Diff(want, instrumentedBy(command)); diff != "" {
			t.Errorf("%q: -want +got\n%s", command, diff)
		}
	}
	list := "instrumentation:com.app.test/androidx.R (target=com.app)\ninstrumentation:other/x (target=y)\n"
	if diff := cmp.Diff([]string{"com.app.test", "com.app"}, targets(list, "com.app.test/androidx.R")); diff != "" {
		t.Error(diff)
	}
}

func FuzzDeviceAnswers(f *testing.F) {
	f.Add("4100\nUSER PID PPID S LABEL NAME\nshell 4000 1 S u:r:shell:s0 app process\n")
	f.Add("[battery]\nlevel: 1\n[data]\nAvailable /data\n/data 9 9\n[window]\nshowing=true\n")
	f.Add("9\r\nUSER PID NAME\nshell -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		shell, all := parseProcesses(text)
		for _, p := range strays(shell, all, nil) {
			if p.PID <= 0 || p.PID == shell {
				t.Errorf("%+v would be killed", p)
			}
		}
		for name, value := range parseVitals(text) {
			if value == "" || len(value) > 64 {
				t.Errorf("%s = %q", name, value)
			}
		}
		targets(text, "a/b")
		instrumentedBy(text)
	})
}

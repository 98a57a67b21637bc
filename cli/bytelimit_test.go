package cli

import "testing"

func TestByteLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"": 0, "none": -1, "1": 1, "500MiB": 500 << 20, "50GiB": 50 << 30, "50 gb": 50e9, "2TB": 2e12, "1024KiB": 1 << 20, "7B": 7,
	} {
		if got, err := byteLimit(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "GiB", "1.5GiB", "5PiB", "9999999999TiB", "all", "1 G iB"} {
		if got, err := byteLimit(text); err == nil {
			t.Errorf("%q is taken for %d", text, got)
		}
	}
}

package simdevice

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

func TestTheScreenIsAPictureOfItsOwn(t *testing.T) {
	t.Parallel()
	one := runLine(t.Context(), New(Options{Serial: "ONE"}), "screencap -p", "")
	picture, err := png.Decode(strings.NewReader(one.out))
	if err != nil || one.code != 0 {
		t.Fatalf("screencap -p: %v, exit code %d, want a PNG", err, one.code)
	}
	if size := picture.Bounds().Size(); size.X != ScreenWidth || size.Y != ScreenHeight {
		t.Errorf("size %v, want %d by %d", size, ScreenWidth, ScreenHeight)
	}
	if other := runLine(t.Context(), New(Options{Serial: "TWO"}), "screencap -p", ""); bytes.Equal([]byte(one.out), []byte(other.out)) {
		t.Error("two phones show the same, want each its own")
	}
	if got := runLine(t.Context(), New(Options{}), "screencap /sdcard/x.png", ""); got.code == 0 {
		t.Error("screencap into a file: exit code 0, want it refused")
	}
}

func TestTheTestPackagePlaysItsStreams(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]string{
		"Pass":  "test=isLeftOut\nINSTRUMENTATION_STATUS_CODE: -3\n",
		"Fail":  "test=isGreen\nINSTRUMENTATION_STATUS_CODE: -2\n",
		"Crash": "shortMsg=Process crashed.\nINSTRUMENTATION_CODE: 0\n",
		"Cut":   "test=isCut\nINSTRUMENTATION_STATUS_CODE: 1\n",
	} {
		got := runLine(t.Context(), New(Options{}), "am instrument -w -r -e class 'org.phonebooth.sim."+class+"' '"+TestComponent+"'", "")
		if got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s: exit code %d, %q; want 0 and %q in it", class, got.code, got.out, want)
		}
		if ended := strings.HasSuffix(got.out, "INSTRUMENTATION_CODE: -1\n"); ended != (class == "Pass" || class == "Fail") {
			t.Errorf("%s: ended: %v", class, ended)
		}
	}
	if got := runLine(t.Context(), New(Options{}), "am instrument -w -r org.other/.Runner", ""); got.err != "INSTRUMENTATION_FAILED: org.other/.Runner\n" {
		t.Errorf("another package: %+v, want it refused", got)
	}
}

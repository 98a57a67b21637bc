package adb_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/bridge"
	"github.com/phonebooth-dev/phonebooth/bridge/bridgetest"
	"github.com/phonebooth-dev/phonebooth/internal/adb/adbtest"
)

// BenchmarkGatePush pushes 64 MiB with the real client through a gate and directly, in turns, and reports how fast the gate
// is beside the direct way, each at its best: 1 is as fast, and at least 0.7 is wanted.
func BenchmarkGatePush(b *testing.B) {
	srv := adbtest.NewServer(b)
	br := newBridge(b, srv)
	leased := booths(b, srv, br, bridgetest.Watch(b, br), bridge.Lease{MayDrive: func() bool { return true }}, "PHONE1")[0]
	direct := &booth{srv: srv, phone: leased.phone, env: []string{"ANDROID_SERIAL=" + leased.serial}}
	const size = 64 << 20
	file := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(file, bytes.Repeat([]byte("0123456789abcdef"), size/16), 0o600); err != nil {
		b.Fatal(err)
	}
	best := [2]time.Duration{time.Hour, time.Hour}
	b.SetBytes(2 * size)
	for b.Loop() {
		for i, way := range []*booth{leased, direct} {
			begun := time.Now()
			if got := way.run(b, "", "push", file, "/sdcard/file"); got.code != 0 {
				b.Fatalf("adb push = %+v", got)
			}
			best[i] = min(best[i], time.Since(begun))
		}
	}
	b.ReportMetric(float64(best[1])/float64(best[0]), "of-direct")
	b.ReportMetric(size/1e6/best[0].Seconds(), "gate-MB/s")
}

package ledger_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/ledger"
	"github.com/phonebooth-dev/phonebooth/internal/store/postgrestest"
)

// BenchmarkBatch is the time of one batch of submissions, durable on the disk, on both databases.
func BenchmarkBatch(b *testing.B) {
	for _, database := range []struct {
		name string
		dsn  func(*testing.B) string
	}{
		{"SQLite", func(b *testing.B) string { return filepath.Join(b.TempDir(), "phonebooth.db") }},
		{"PostgreSQL", func(b *testing.B) string { return postgrestest.New(b, "fsync=on").DSN() }},
	} {
		b.Run(database.name, func(b *testing.B) {
			for _, size := range []int{1, 16, 256} {
				b.Run(fmt.Sprint(size), func(b *testing.B) {
					l := ledger.New(open(b, database.dsn(b)), ledger.Options{})
					run(b, l)
					n := 0
					batch := func() {
						verbs := make([]ledger.Verb, size)
						for i := range verbs {
							n++
							id := phonebooth.TaskID(fmt.Sprintf("task_%09d", n))
							verbs[i] = submit(id, string(id), 1<<30)
						}
						mustAll(b, l.DoAll(b.Context(), verbs))
					}
					batch() // prepares the statements
					begin, done := time.Now(), 0
					for b.Loop() {
						batch()
						done += size
					}
					b.ReportMetric(float64(done)/time.Since(begin).Seconds(), "verbs/s")
				})
			}
		})
	}
}

package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/telemetry"
)

func TestFormats(t *testing.T) {
	t.Parallel()
	for _, known := range telemetry.Formats() {
		var f telemetry.Format
		if err := f.UnmarshalText([]byte(known)); err != nil || f != known {
			t.Errorf("format %q: %q, %v", known, f, err)
		}
		if text, err := f.MarshalText(); err != nil || string(text) != string(known) {
			t.Errorf("format %q as text: %q, %v", known, text, err)
		}
	}
	f := telemetry.FormatJSON
	err := f.UnmarshalText([]byte("xml"))
	if err == nil || !strings.Contains(err.Error(), "auto, color, text, json") || f != telemetry.FormatJSON {
		t.Errorf("format xml: %q, %v, want a refusal that names the known ones", f, err)
	}
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	tests := map[telemetry.Format]string{
		telemetry.FormatJSON:  `"msg":"task placed","task_id":"task_1"`,
		telemetry.FormatText:  `level=INFO msg="task placed" task_id=task_1`,
		telemetry.FormatAuto:  `level=INFO msg="task placed" task_id=task_1`, // a buffer is no terminal
		"":                    `level=INFO msg="task placed" task_id=task_1`,
		telemetry.FormatColor: "task placed",
	}
	for format, want := range tests {
		var out bytes.Buffer
		log := telemetry.NewLogger(&out, format, slog.LevelInfo)
		log.Debug("not shown")
		log.Info("task placed", "task_id", "task_1")
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
			t.Errorf("format %q: %q, want one line with %q", format, got, want)
		}
	}
}

func TestC41_ASecretHidesItself(t *testing.T) {
	t.Parallel()
	const plain = "s3cret"
	secret := telemetry.NewSecret(plain)
	inside := struct {
		Token  telemetry.Secret
		Tokens []telemetry.Secret
		ByName map[telemetry.Secret]*telemetry.Secret
		inner  telemetry.Secret
	}{secret, []telemetry.Secret{secret}, map[telemetry.Secret]*telemetry.Secret{secret: &secret}, secret}

	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "% x", "%10.3s"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", secret, &secret, inside)
	}
	fmt.Fprintln(&out, secret.String(), errors.New("with "+secret.String()))
	for _, format := range telemetry.Formats() {
		log := telemetry.NewLogger(&out, format, slog.LevelInfo)
		log.With("token", secret).Info("a", "inside", inside, "pointer", &secret, slog.Group("g", "token", secret))
	}
	for _, v := range []any{secret, &secret, inside} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	all := out.String()
	for _, trace := range []string{plain, "s3c", fmt.Sprintf("%x", plain), fmt.Sprintf("%X", plain), fmt.Sprintf("% x", plain)} {
		if strings.Contains(all, trace) {
			t.Errorf("the secret shows as %q in:\n%s", trace, all)
		}
	}
	if !strings.Contains(all, "[hidden]") {
		t.Error("nothing tells that there was a secret")
	}
	if got := inside.inner.Reveal(); got != plain {
		t.Errorf("Reveal() = %q, want %q", got, plain)
	}
}

func TestTheZeroSecretIsTheEmptyText(t *testing.T) {
	t.Parallel()
	var none telemetry.Secret
	if none.Reveal() != "" {
		t.Errorf("it reveals %q", none.Reveal())
	}
}

func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	text, err := io.ReadAll(answer.Result().Body)
	if err != nil || answer.Code != 200 {
		t.Fatalf("scrape: %d, %v", answer.Code, err)
	}
	return string(text)
}

func TestTheSixFigures(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	if before := scrape(t, m); strings.Contains(before, "phonebooth_queue_depth") {
		t.Errorf("a queue that nobody watches has a depth:\n%s", before)
	}
	m.WatchQueue(func() (int, time.Duration) { return 1, time.Second })
	m.WatchQueue(func() (int, time.Duration) { return 12, 90 * time.Second })
	m.LeaseRenewed(21 * time.Second)
	m.LeaseRenewed(300 * time.Millisecond)
	m.LeaseLost("expired")
	m.LeaseLost("expired")
	m.LeaseLost("superseded")
	m.IndexDiffered(3)
	m.Committed(1)
	m.Committed(256)

	got := scrape(t, m)
	for _, line := range []string{
		"phonebooth_queue_depth 12",
		"phonebooth_oldest_queued_seconds 90",
		`phonebooth_renewal_margin_seconds_bucket{le="0.5"} 1`,
		"phonebooth_renewal_margin_seconds_sum 21.3",
		`phonebooth_lost_leases_total{reason="expired"} 2`,
		`phonebooth_lost_leases_total{reason="superseded"} 1`,
		"phonebooth_index_differences_total 3",
		`phonebooth_commit_verbs_bucket{le="1"} 1`,
		`phonebooth_commit_verbs_bucket{le="256"} 2`,
	} {
		if !strings.Contains(got, "\n"+line+"\n") {
			t.Errorf("the scrape has no line %q:\n%s", line, got)
		}
	}
	if other := scrape(t, telemetry.NewMetrics()); strings.Contains(other, "expired") {
		t.Error("two Metrics share a registry")
	}
}

func TestFiguresAreNotedWhileTheyAreScraped(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				m.WatchQueue(func() (int, time.Duration) { return i, 0 })
				m.LeaseLost("expired")
				scrape(t, m)
			}
		})
	}
	wg.Wait()
	if got := scrape(t, m); !strings.Contains(got, `{reason="expired"} 80`) {
		t.Errorf("80 lost leases are not 80:\n%s", got)
	}
}

package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/phonebooth-dev/phonebooth/client"
)

func TestALogsAttemptsAreToldApartBesideIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			_, _ = io.WriteString(w, `{"id":"task_1","max_attempts":3}`)
			return
		}
		for _, m := range []string{
			`attempt {"attempt":1,"offset":0}`, `log {"attempt":1,"offset":0,"data":"b25l"}`,
			`closed {"attempt":1,"offset":3,"reason":"its host\u001b is silent"}`,
			`attempt {"attempt":2,"offset":0}`, `log {"attempt":2,"offset":0,"data":"dHdvCg=="}`, `gap {"attempt":2,"offset":4,"bytes":7}`,
			`closed {"attempt":2,"offset":11,"complete":true}`, `end {"offset":0,"status":"failed"}`,
		} {
			kind, data, _ := strings.Cut(m, " ")
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "", client.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetErr(&said)
	status, err := printer(cmd, c, "task_1").follow(t.Context(), client.LogQuery{All: true})
	if err != nil || status != "failed" {
		t.Errorf("the status is %q, %v", status, err)
	}
	if want := "onetwo\n" + client.LeftOut(7); out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
	if want := "the log of attempt 1 may not be whole: its host\ufffd is silent\nattempt 2 of 3\n"; said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
}

package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"testing"

	"charm.land/fang/v2"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/config"
)

func TestErrorsAreToldToPeople(t *testing.T) {
	t.Parallel()
	away := phonebooth.Errorf(phonebooth.Unavailable, client.Unreachable, "the server at http://x is not reachable")
	tests := []struct {
		name string
		err  error
		code int
		want string
	}{
		{"nothing", nil, exitDone, ""},
		{"something", errors.New("it broke"), exitFailed, "phonebooth: it broke\n"},
		{
			"a refusal", fmt.Errorf("submit: %w", phonebooth.Errorf(phonebooth.Invalid, "invalid", "the goal is empty")), exitRefused,
			"phonebooth: the goal is empty (invalid)\n",
		},
		{
			"a refusal with advice", phonebooth.Errorf(phonebooth.NotFound, "task_unknown", "there is no task with this id"), exitRefused,
			"phonebooth: there is no task with this id (task_unknown)\n  see which tasks there are: phonebooth task list\n",
		},
		{
			"a refusal's cause stays behind", phonebooth.Errorf(phonebooth.Unavailable, "store_unavailable", "try again").Because(errors.New("secret")),
			exitRefused, "phonebooth: try again (store_unavailable)\n",
		},
		{
			"no server", away.Because(errors.New("dial: connection refused")), exitUnreachable,
			"phonebooth: the server at http://x is not reachable (unreachable)\n  dial: connection refused\n" +
				"  start one on this machine: phonebooth dev; or say which with --server\n",
		},
		{
			"a certificate that is not trusted", away.Because(&tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")}), exitUnreachable,
			"phonebooth: the certificate of the server is not trusted (unreachable)\n  tls: failed to verify certificate: x509: unknown authority\n" +
				"  if it is your own: name the file of the certificate, or of its authority, in SSL_CERT_FILE\n",
		},
		{"Ctrl-C in a call", away.Because(context.Canceled), exitInterrupted, "phonebooth: interrupted\n"},
		{
			"a configuration file", &config.Error{File: "a.yaml", Line: 2, Column: 7, Message: "wants a number"}, exitUsage,
			"phonebooth: a.yaml:2:7: wants a number\n",
		},
		{"what was said already", &failure{status: exitFailed}, exitFailed, ""},
		{"steering of the terminal", errors.New("a\x1b[31m\u202eb"), exitFailed, "phonebooth: a\ufffd[31m\ufffdb\n"},
		{"a task that is done", endingOf(v1.Task{ID: "task_1", Status: "done"}), exitDone, ""},
		{"a task that was cancelled", endingOf(v1.Task{ID: "task_1", Status: "cancelled"}), exitCancelled, "phonebooth: task_1 was cancelled\n"},
		{
			"a task that failed in the queue", endingOf(v1.Task{ID: "task_1", Status: "failed", Failure: &v1.Failure{Code: "queue_timeout", Message: "too late"}}),
			exitFailed, "phonebooth: task_1 failed: too late (queue_timeout)\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := exitCode(test.err); got != test.code {
				t.Errorf("exit code %d, want %d", got, test.code)
			}
			if test.err == nil {
				return
			}
			var out bytes.Buffer
			explain(&out, fang.Styles{}, test.err)
			if got := out.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

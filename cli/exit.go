package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/config"
)

// The statuses that the program exits with.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCancelled   = 3
	exitRefused     = 4
	exitUnreachable = 5
	exitInterrupted = 130 // as shells say it of SIGINT
)

// failure is an error that knows the status to exit with and what a person can do next.
type failure struct {
	status int
	err    error    // nil: everything has been said
	next   []string // a line each
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// usage is a mistake in how cmd was called.
func usage(cmd *cobra.Command, format string, args ...any) *failure {
	return &failure{
		status: exitUsage, err: fmt.Errorf(format, args...),
		next: []string{"see " + cmd.CommandPath() + " --help"},
	}
}

// exitCode is the status that belongs to err.
func exitCode(err error) int {
	var (
		known   *failure
		mistake *config.Error
		refusal *phonebooth.Error
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &known):
		return known.status
	case errors.As(err, &mistake):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &refusal):
		if noAnswer(refusal.Code) {
			return exitUnreachable
		}
		return exitRefused
	}
	return exitFailed
}

// untrusted reports whether err says that there is a server, but that nothing vouches for its certificate.
func untrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// noAnswer reports whether code says that no server of ours has answered.
func noAnswer(code string) bool { return code == client.Unreachable || code == client.Unreadable }

// explain tells a person what went wrong and what to do next. It is the only place where an error is printed.
func explain(w io.Writer, styles fang.Styles, err error) {
	var known *failure
	if errors.As(err, &known) && known.err == nil {
		return
	}
	name := styles.ErrorHeader.UnsetMargins().UnsetPadding().UnsetBackground().UnsetString().Render("phonebooth:")
	_, _ = fmt.Fprintln(w, name, cleanLines(inWords(err)))
	for _, line := range next(err) {
		_, _ = fmt.Fprintln(w, "  "+clean(line))
	}
}

// inWords is what a person is told of err.
func inWords(err error) string {
	var known *failure
	var refusal *phonebooth.Error
	switch {
	case errors.As(err, &known) && known.status == exitInterrupted:
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &refusal):
		message := refusal.Message + " (" + refusal.Code + ")"
		if refusal.Code == "unauthenticated" && strings.Contains(refusal.Message, "Authorization") { // the words of HTTP
			message = "the server does not know this token (" + refusal.Code + ")"
		}
		if untrusted(err) {
			message = "the certificate of the server is not trusted (" + refusal.Code + ")"
		}
		if cause := refusal.Unwrap(); cause != nil && noAnswer(refusal.Code) {
			message += "\n" + cause.Error()
		}
		return message
	}
	return err.Error()
}

// badFlag says what is wrong with a flag in the words of somebody who types, not of somebody who writes Go.
func badFlag(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if !errors.As(err, &value) {
		return usage(cmd, "%w", err)
	}
	name := "--" + value.GetFlag().Name
	wants := map[string]string{"int": "a whole number", "int64": "a whole number", "duration": "a duration such as 30s or 10m", "bool": "true or false"}
	if want := wants[value.GetFlag().Value.Type()]; want != "" {
		return usage(cmd, "%s wants %s, not %q", name, want, clean(value.GetValue()))
	}
	return usage(cmd, "%s: %w, not %q", name, value.Unwrap(), clean(value.GetValue()))
}

// excluding is how cobra says that flags exclude each other.
var excluding = regexp.MustCompile(`^if any flags in the group .* none of the others can be; \[(.+)\] were all set$`)

// badFlags says in our words what is wrong with flags that were given together.
func badFlags(cmd *cobra.Command, err error) error {
	given := excluding.FindStringSubmatch(err.Error())
	if given == nil {
		return usage(cmd, "%w", err)
	}
	return usage(cmd, "--%s exclude each other", strings.ReplaceAll(given[1], " ", " and --"))
}

// advice says what to do about refusals whose message cannot know that a command line asks.
var advice = map[string]string{
	client.Unreachable: "start one on this machine: phonebooth dev; or say which with --server",
	client.Unreadable:  "say with --server where a Phonebooth server is; the address of one that has a certificate begins with https://",
	"unauthenticated":  "log in with: phonebooth login URL --token-file FILE; the server's data directory holds admin.token",
	"task_unknown":     "see which tasks there are: phonebooth task list",
	"device_unknown":   "see which devices there are: phonebooth device list",
	"host_unknown":     "see which hosts there are: phonebooth host list",
	"workflow_unknown": "see which workflows there are: phonebooth workflow list",
	"attempt_unknown":  "see which attempts there are: phonebooth task attempts ID",
	"outcome_unknown":  "it may have happened; look, or simply repeat the command with the same --idempotency-key",
	"queue_full":       "wait until tasks end, or cancel some: phonebooth task list --status queued",
}

func next(err error) []string {
	var known *failure
	if errors.As(err, &known) && known.next != nil {
		return known.next
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return []string{"give the server's URL with a name that its certificate has"}
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return []string{"its certificate has expired or is not valid yet: it must be renewed, or the clock of this machine is wrong"}
	}
	if cause := errors.Unwrap(err); cause != nil && strings.Contains(cause.Error(), "server gave HTTP response to HTTPS client") {
		return []string{"the server has no certificate there: its address begins with http://"}
	}
	if untrusted(err) {
		return []string{"if it is your own: name the file of the certificate, or of its authority, in SSL_CERT_FILE"}
	}
	if phonebooth.CodeOf(err) == "unauthenticated" && os.Getenv(envToken) != "" {
		return []string{envToken + " is set, and goes before the token that is kept for the server: unset it, or set the right one", advice["unauthenticated"]}
	}
	if line := advice[phonebooth.CodeOf(err)]; line != "" {
		return []string{line}
	}
	return nil
}

// cleanLines is text that a terminal can show, lines kept.
func cleanLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = clean(line)
	}
	return strings.Join(lines, "\n  ")
}

package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
)

// add offers a tool. What goes wrong becomes a refusal that says what to do next.
func add[In, Out any](s *Server, name, description string, hints sdk.ToolAnnotations, call func(context.Context, *client.Client, In, *sdk.CallToolRequest) (Out, error)) {
	open := true
	hints.OpenWorldHint = &open
	sdk.AddTool(s.sdk, &sdk.Tool{Name: name, Description: description, Annotations: &hints, InputSchema: schemaOf[In]()},
		func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
			var none Out
			c, err := s.connect()
			if err != nil {
				return nil, none, fmt.Errorf("not_connected: %s\nnext: start a server on this machine with `phonebooth dev`, or log in to one with "+
					"`phonebooth login URL`; then call this tool again, nothing needs a restart", clean(err.Error()))
			}
			out, err := call(ctx, c, in, req)
			if err != nil {
				return nil, none, refused(err)
			}
			return nil, out, nil
		})
}

func reads() sdk.ToolAnnotations {
	return sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
}

func changes(destroys, idempotent bool) sdk.ToolAnnotations {
	return sdk.ToolAnnotations{DestructiveHint: &destroys, IdempotentHint: idempotent}
}

// advice says what an agent can do about a refusal.
var advice = map[string]string{
	client.Unreachable: "the server is down or the address is wrong: ask the user to start it (`phonebooth dev` or `phonebooth server`) or to log in " +
		"(`phonebooth login URL`); tasks that run go on meanwhile; call this tool again later",
	client.Unreadable:   "ask the user whether the server's address is right: `phonebooth login URL` sets it",
	"unauthenticated":   "ask the user to log in again: `phonebooth login URL`; then call this tool again",
	"task_unknown":      "list_tasks shows which tasks there are",
	"workflow_unknown":  "list_workflows shows which workflows there are",
	"attempt_unknown":   "get_task shows the number of the newest attempt; they count from 1",
	"artifact_unknown":  "list_artifacts shows which files there are",
	"outcome_unknown":   "call again with the same arguments; a submission with the same idempotency_key",
	"queue_full":        "wait until tasks end, or cancel some with cancel_task",
	"task_ended":        "there is nothing left to cancel; get_task shows how it ended",
	"invalid":           "correct the arguments and call again",
	"log_expired":       "the bytes are gone; get_task and explain_task still tell how it ended",
	"artifacts_expired": "the bytes are gone; get_task and explain_task still tell how it ended",
}

// refused is err as an agent reads it: code, message, details, what to do next. The cause stays behind.
func refused(err error) error {
	var known *phonebooth.Error
	if !errors.As(err, &known) {
		return err
	}
	text := known.Code + ": " + clean(known.Message)
	for _, name := range slices.Sorted(maps.Keys(known.Detail)) {
		text += "\n" + name + ": " + clean(known.Detail[name])
	}
	if next := advice[known.Code]; next != "" {
		text += "\nnext: " + next
	}
	return errors.New(text)
}

// withDetail is a refusal that also says something that this package found out.
func withDetail(err error, name, value string) error {
	var known *phonebooth.Error
	if value == "" || !errors.As(err, &known) {
		return err
	}
	more := *known
	if more.Detail = maps.Clone(known.Detail); more.Detail == nil {
		more.Detail = map[string]string{}
	}
	more.Detail[name] = value
	return &more
}

// clean is text of others without terminal control, marks that turn text around, and characters nobody sees.
func clean(text string) string {
	return strings.Map(harmless, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// harmless is a character of clean text, or negative for none.
func harmless(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == '\r':
		return -1
	case unicode.IsControl(r), r == 0x061c, r == 0x200b, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff,
		r >= 0xe0000 && r <= 0xe007f:
		return unicode.ReplacementChar
	}
	return r
}

// cut is clean text of at most n bytes, and a word about the rest.
func cut(text string, n int) string {
	if len(text) <= n {
		return clean(text)
	}
	at := n
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return clean(text[:at]) + fmt.Sprintf(" [cut: %d bytes in all]", len(text))
}

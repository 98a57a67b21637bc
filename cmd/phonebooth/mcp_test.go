//go:build linux

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// onePixel is a PNG of one pixel.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

// shown are runners that leave what an agent reads: hostile text, and files.
const shown = ownRunners + `
  - name: hostile
    drivers: [sim]
    argv: [sh, -c, 'printf "\033[2J\033[31mred\033[0m \342\200\256desrever\342\200\254 <script>alert(1)</script> \033]0;title\007end\n"']
  - name: screenshot
    drivers: [sim]
    argv: [sh, -c, 'echo hello agent; echo ` + onePixel + ` | base64 -d > "$PHONEBOOTH_ARTIFACTS/screen.png"; seq 100000 > "$PHONEBOOTH_ARTIFACTS/numbers.txt"']
`

// mcpAgent is an AI agent's side of `phonebooth mcp`.
type mcpAgent struct {
	*sdk.ClientSession
	stdin    io.Closer
	cmd      *exec.Cmd
	said     *bytes.Buffer // all of its standard output, to be read once it has ended
	progress chan string
}

// mcp starts `phonebooth mcp` as the user's AI agent does.
func (b *booth) mcp(t *testing.T) *mcpAgent {
	t.Helper()
	a := &mcpAgent{cmd: b.command("mcp"), said: &bytes.Buffer{}, progress: make(chan string, 1000)}
	a.cmd.Env = append(a.cmd.Env, b.user...)
	stdin, err := a.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.stdin = stdin
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cmd.Process.Kill() })
	c := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			select {
			case a.progress <- r.Params.Message:
			default: // nobody reads that many
			}
		},
	})
	read := struct {
		io.Reader
		io.Closer
	}{io.TeeReader(stdout, a.said), stdout}
	if a.ClientSession, err = c.Connect(t.Context(), &sdk.IOTransport{Reader: read, Writer: stdin}, nil); err != nil {
		t.Fatalf("connect to phonebooth mcp: %v", err)
	}
	return a
}

// end ends the agent's side: the process must end by itself with 0, and all that it wrote must have been protocol.
func (a *mcpAgent) end(t *testing.T) {
	t.Helper()
	if err := a.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	_ = a.Wait() // how the connection ended; the process is what counts
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("the end of its standard input ends it with %v, want 0", err)
	}
	lines := bufio.NewScanner(a.said)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var message struct {
			Version string `json:"jsonrpc"`
		}
		if err := json.Unmarshal(lines.Bytes(), &message); err != nil || message.Version != "2.0" {
			t.Errorf("standard output has %.200q, which is no message of the protocol", lines.Text())
		}
	}
}

// say calls a tool.
func (a *mcpAgent) say(t *testing.T, tool string, arguments map[string]any) *sdk.CallToolResult {
	t.Helper()
	answer, err := a.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return answer
}

// told is the structured answer of a tool that must not refuse.
func told[T any](t *testing.T, answer *sdk.CallToolResult) (v T) {
	t.Helper()
	if answer.IsError {
		t.Fatalf("refused: %s", firstText(answer))
	}
	text, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	return one[T](t, string(text))
}

func firstText(answer *sdk.CallToolResult) string {
	for _, c := range answer.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

// refusal is the text of a tool that must refuse, and say what to do next.
func refusal(t *testing.T, answer *sdk.CallToolResult, code string) string {
	t.Helper()
	text := firstText(answer)
	if !answer.IsError || !strings.HasPrefix(text, code+": ") || !strings.Contains(text, "\nnext: ") {
		t.Errorf("the answer is %q (error %v), want %s and what to do next", text, answer.IsError, code)
	}
	return text
}

type mcpTask struct {
	ID          string   `json:"task_id"`
	Status      string   `json:"status"`
	Ended       bool     `json:"ended"`
	Explanation []string `json:"explanation"`
}

// submitted is the id of a task that the agent submits to a runner.
func (a *mcpAgent) submitted(t *testing.T, runner string, more map[string]any) string {
	t.Helper()
	arguments := map[string]any{"goal": "x", "driver_type": "sim", "runner": runner}
	for name, value := range more {
		arguments[name] = value
	}
	return told[struct{ Task mcpTask }](t, a.say(t, "submit_task", arguments)).Task.ID
}

// waited waits until the task has ended, as often as it takes.
func (a *mcpAgent) waited(t *testing.T, id string) (task mcpTask) {
	t.Helper()
	eventually(t, "the end of "+id, func() bool {
		task = told[mcpTask](t, a.say(t, "wait_task", map[string]any{"task_id": id, "timeout_s": 20}))
		return task.Ended
	})
	return task
}

func (a *mcpAgent) logOf(t *testing.T, id string) string {
	t.Helper()
	return told[struct{ Text string }](t, a.say(t, "read_log", map[string]any{"task_id": id})).Text
}

func TestDone4_AnAgentSubmitsWaitsReadsExplainsAndCancelsOverMCP(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "2", "--adb", "off", "--config", b.write(t, "shown.yaml", shown))
	p.waitDevices(t, 2)
	a := b.mcp(t)

	id := a.submitted(t, "screenshot", nil)
	if task := a.waited(t, id); task.Status != "done" {
		t.Errorf("the task is %+v, want it done", task)
	}
	if got := a.logOf(t, id); got != "hello agent\n" {
		t.Errorf("the log is %q", got)
	}
	files := told[struct{ Artifacts []struct{ Name string } }](t, a.say(t, "list_artifacts", map[string]any{"task_id": id})).Artifacts
	if len(files) != 2 || files[1].Name != "screen.png" {
		t.Errorf("the files are %v, want screen.png among two", files)
	}
	checkImage(t, a.say(t, "read_artifact", map[string]any{"task_id": id, "name": "screen.png"}))
	text := refusal(t, a.say(t, "read_artifact", map[string]any{"task_id": id, "name": "screen.jpg"}), "artifact_unknown")
	if !strings.Contains(text, "screen.png") {
		t.Errorf("the refusal is %q, want it to name the file that is there", text)
	}
	middle := a.say(t, "read_artifact", map[string]any{"task_id": id, "name": "numbers.txt", "offset": 588_000, "max_bytes": 600})
	if text := firstText(middle); middle.IsError || !strings.Contains(text, "there is more: call again with offset=588600") {
		t.Errorf("the middle of a larger text begins with %q, want where to go on", text)
	}

	stuck := a.submitted(t, "screenshot", map[string]any{"tags": []string{"no-such-tag"}})
	told := told[struct{ Sentences []string }](t, a.say(t, "explain_task", map[string]any{"task_id": stuck})).Sentences
	if !strings.Contains(strings.Join(told, " "), "no-such-tag") {
		t.Errorf("the explanation is %q, want it to name the tag that nothing has", told)
	}
	if answer := a.say(t, "cancel_task", map[string]any{"task_id": stuck}); answer.IsError {
		t.Errorf("cancel is refused: %s", firstText(answer))
	}
	if task := a.waited(t, stuck); task.Status != "cancelled" {
		t.Errorf("the task is %+v, want it cancelled", task)
	}
	refusal(t, a.say(t, "cancel_task", map[string]any{"task_id": id}), "task_ended")
	refusal(t, a.say(t, "get_task", map[string]any{"task_id": "task_unknown"}), "task_unknown")

	hostile := a.submitted(t, "hostile", nil)
	a.waited(t, hostile)
	if got := a.logOf(t, hostile); strings.ContainsAny(got, "\x1b\x07\u202e\u202c") || !strings.Contains(got, "<script>alert(1)</script>") {
		t.Errorf("the log of hostile output is %q, want its words without what steers a terminal or turns text", got)
	}
	a.end(t)
}

func checkImage(t *testing.T, answer *sdk.CallToolResult) {
	t.Helper()
	at := slices.IndexFunc(answer.Content, func(c sdk.Content) bool { _, ok := c.(*sdk.ImageContent); return ok })
	if answer.IsError || at < 0 {
		t.Fatalf("the screenshot comes as %+v, want an image", firstText(answer))
	}
	image := answer.Content[at].(*sdk.ImageContent)
	if _, err := png.Decode(bytes.NewReader(image.Data)); err != nil || image.MIMEType != "image/png" {
		t.Errorf("the image is %s, %v", image.MIMEType, err)
	}
	if base64.StdEncoding.EncodeToString(image.Data) != onePixel {
		t.Errorf("the image is not the one that the runner left")
	}
}

func TestDone4_AWaitOverMCPIsCancelledAloneAndOutlivesARestart(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	p := b.dev(t, "--sim", "2", "--adb", "off", "--config", b.runners(t))
	p.waitDevices(t, 2)
	a := b.mcp(t)
	id := a.submitted(t, "gate", nil)
	progressed := func() {
		t.Helper()
		select {
		case <-a.progress:
		case <-time.After(patience):
			t.Fatal("a wait tells no progress")
		}
	}

	ctx, stop := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		if _, err := a.CallTool(ctx, waitFor(id)); !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled wait ends with %v", err)
		}
	})
	progressed()
	stop()
	calls.Wait()
	if task := told[mcpTask](t, a.say(t, "get_task", map[string]any{"task_id": id})); task.Ended {
		t.Errorf("the task is %+v after its wait was cancelled, want it to go on", task)
	}
	again := told[mcpTask](t, a.say(t, "wait_task", map[string]any{"task_id": id, "timeout_s": 1}))
	if again.Ended || len(again.Explanation) == 0 {
		t.Errorf("a wait whose time is up says %+v, want where the task stands", again)
	}

	calls.Go(func() {
		answer, err := a.CallTool(t.Context(), waitFor(id))
		if err != nil || answer.IsError {
			t.Errorf("the wait over a restart: %v %+v", err, answer)
		} else if text := firstText(answer); !strings.Contains(text, `"done"`) {
			t.Errorf("the wait over a restart says %s", text)
		}
	})
	for len(a.progress) > 0 {
		<-a.progress
	}
	progressed()
	p.kill()
	refusal(t, a.say(t, "get_task", map[string]any{"task_id": id}), "unreachable")
	p.restart(t)
	b.openGate(t)
	calls.Wait()
	a.end(t)
}

// waitFor is a long wait that asks for progress.
func waitFor(id string) *sdk.CallToolParams {
	params := &sdk.CallToolParams{Name: "wait_task", Arguments: map[string]any{"task_id": id, "timeout_s": 90}}
	params.SetProgressToken("p")
	return params
}

func TestALoginTakesEffectAtTheNextCallOfAnAgentOverMCP(t *testing.T) {
	t.Parallel()
	b := newBooth(t)
	a := b.mcp(t)
	if text := refusal(t, a.say(t, "list_tasks", nil), "not_connected"); !strings.Contains(text, "phonebooth login") {
		t.Errorf("without a login it says %q, want how to log in", text)
	}
	for _, goal := range []string{"on the first", "on the second"} {
		p := newBooth(t).server(t)
		p.submit(t, sim(goal))
		b.run(t, "login", p.url, "--token-file", filepath.Join(p.data, "admin.token"))
		tasks := told[struct{ Tasks []struct{ Goal string } }](t, a.say(t, "list_tasks", nil)).Tasks
		if len(tasks) != 1 || tasks[0].Goal != goal {
			t.Errorf("after the login to its server the tasks are %v, want the one %s", tasks, goal)
		}
	}
	text := refusal(t, a.say(t, "submit_task", map[string]any{"workflow": "nowhere"}), "workflow_unknown")
	if !strings.Contains(text, "idempotency_key: ") {
		t.Errorf("the refusal is %q, want the key to repeat it with", text)
	}
	a.end(t)
}

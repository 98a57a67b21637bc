package mcp_test

import (
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/phonebooth-dev/phonebooth/client"
	"github.com/phonebooth-dev/phonebooth/internal/mcp"
)

func TestWithoutAServerEachToolSaysWhatToDo(t *testing.T) {
	t.Parallel()
	here, there := sdk.NewInMemoryTransports()
	s := mcp.New(func() (*client.Client, error) { return nil, errors.New("no server is known") }, mcp.Options{})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), there) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 12 {
		t.Fatalf("%d tools, %v; want 12", len(tools.Tools), err)
	}
	for _, tool := range tools.Tools {
		arguments := map[string]any{}
		for _, name := range []string{"task_id", "name"} {
			if strings.HasPrefix(tool.Name, "list_") && tool.Name != "list_artifacts" && tool.Name != "list_steps" || tool.Name == "submit_task" ||
				name == "name" && tool.Name != "read_artifact" {
				continue
			}
			arguments[name] = "x"
		}
		answer, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: arguments})
		if err != nil {
			t.Fatal(tool.Name, err)
		}
		if text := answer.Content[0].(*sdk.TextContent).Text; !answer.IsError || !strings.Contains(text, "next: ") || !strings.Contains(text, "phonebooth login") {
			t.Errorf("%s answers %q, want a refusal that says how to mend it", tool.Name, text)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("the end of the caller is %v, want no error", err)
	}
}

func TestArgumentsThatAreOutOfBoundsAreRefusedByName(t *testing.T) {
	t.Parallel()
	here, there := sdk.NewInMemoryTransports()
	asked := false
	s := mcp.New(func() (*client.Client, error) { asked = true; return nil, errors.New("no server") }, mcp.Options{})
	go func() { _ = s.Serve(t.Context(), there) }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		tool, field string
		value       any
		want        string
	}{
		{"wait_task", "timeout_s", 601, "600"},
		{"wait_task", "timeout_s", 0, "1"},
		{"read_log", "max_bytes", 65537, "65536"},
		{"read_log", "name", "stdout", "runner device events"},
		{"read_artifact", "offset", -1, "0"},
		{"list_tasks", "status", []string{"running"}, "dispatched"},
		{"submit_task", "priority", 11, "10"},
		{"submit_task", "phone", "x", "phone"},
	} {
		arguments := map[string]any{bad.field: bad.value}
		if strings.HasPrefix(bad.tool, "read_") || bad.tool == "wait_task" {
			arguments["task_id"] = "x"
			if bad.tool == "read_artifact" {
				arguments["name"] = "x"
			}
		}
		answer, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: bad.tool, Arguments: arguments})
		if err != nil {
			t.Fatal(bad, err)
		}
		text := answer.Content[0].(*sdk.TextContent).Text
		if !answer.IsError || !strings.HasPrefix(text, "invalid: ") || !strings.Contains(text, bad.field) || !strings.Contains(text, bad.want) || !strings.Contains(text, "\nnext: ") {
			t.Errorf("%s with %s %v answers %q, want a refusal that names it and %s", bad.tool, bad.field, bad.value, text, bad.want)
		}
	}
	for _, bad := range []any{[]string{"x"}, "x", 1} {
		answer, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_tasks", Arguments: bad})
		if err != nil || !answer.IsError || !strings.HasPrefix(answer.Content[0].(*sdk.TextContent).Text, "invalid: ") {
			t.Errorf("arguments that are %v are answered with %+v, %v", bad, answer, err)
		}
	}
	if asked {
		t.Error("the server was asked although the arguments are wrong")
	}
	if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "list_tasks", Arguments: map[string]any(nil)}); err != nil || !asked {
		t.Errorf("arguments that are null: %v, asked %v; want them taken as none", err, asked)
	}
}

package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/client"
)

// away is for how long a wait outlives a server that does not answer.
const away = 20 * time.Second

// wait looks at the task until it has ended or the time is up, telling its progress. A restart of the server does not end it.
func wait(ctx context.Context, c *client.Client, in waitIn, req *sdk.CallToolRequest) (taskOut, error) {
	limit := time.Duration(in.TimeoutS) * time.Second
	began, heard := time.Now(), time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(pause*3/2, time.Second) {
		t, err := c.Task(ctx, in.TaskID)
		left := limit - time.Since(began)
		switch {
		case ctx.Err() != nil:
			return taskOut{}, ctx.Err()
		case err == nil && phonebooth.Status(t.Status).Terminal():
			return viewOf(t), nil
		case err == nil:
			heard = time.Now()
			tellProgress(ctx, req, time.Since(began), limit, fmt.Sprintf("%s is %s, attempt %d of %d", t.ID, t.Status, t.Attempt, t.MaxAttempts))
		case phonebooth.CodeOf(err) != client.Unreachable || time.Since(heard) > away || left <= 0:
			return taskOut{}, err
		}
		if err == nil && left <= 0 {
			return stillGoing(ctx, c, viewOf(t)), nil
		}
		select {
		case <-time.After(min(pause, max(left, time.Millisecond))):
		case <-ctx.Done():
			return taskOut{}, ctx.Err()
		}
	}
}

// stillGoing adds why the task has not ended.
func stillGoing(ctx context.Context, c *client.Client, v taskOut) taskOut {
	if e, err := c.Explain(ctx, v.TaskID); err == nil { // else the status has to do
		v.Explanation = cleaned(e.Sentences)
	}
	v.Next = "the time was up, the task goes on: call wait_task again, or cancel_task to stop it"
	return v
}

// tellProgress tells a caller who asked for it. Nobody is harmed if it does not arrive.
func tellProgress(ctx context.Context, req *sdk.CallToolRequest, passed, limit time.Duration, message string) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
		ProgressToken: token, Progress: passed.Seconds(), Total: limit.Seconds(), Message: message,
	})
}

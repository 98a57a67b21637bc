package client

import (
	"context"
	"net/http"

	"github.com/phonebooth-dev/phonebooth"
	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// SubmitBatch stores tasks in their order, all or none, and gives them back as queued. The key is that of the whole batch, and
// is used as that of [Client.SubmitKey] is. A refusal that one task is to blame for has its index, from 0, as detail index, and
// where the mistake is as detail pointer, such as /tasks/3/goal.
func (c *Client) SubmitBatch(ctx context.Context, key string, reqs []v1.TaskRequest) ([]v1.Task, error) {
	if err := phonebooth.ValidIdempotencyKey(key); err != nil {
		return nil, err
	}
	for _, req := range reqs {
		if err := validText(req); err != nil {
			return nil, err
		}
	}
	body, err := bodyOf(v1.TaskBatchRequest{Tasks: reqs})
	if err != nil {
		return nil, err
	}
	var batch v1.TaskBatch
	err = c.do(ctx, request{
		method: http.MethodPost, path: []string{"v1", "tasks", "batch"}, body: body, safe: true,
		header: http.Header{v1.HeaderIdempotencyKey: {key}},
	}, &batch)
	return batch.Tasks, err
}

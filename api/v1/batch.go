package v1

// TaskBatchRequest submits several tasks, all or none.
type TaskBatchRequest struct {
	Tasks []TaskRequest `json:"tasks" minItems:"1" maxItems:"1000"`
}

// TaskBatch holds the tasks of a batch in the order in which they were submitted.
type TaskBatch struct {
	Tasks []Task `json:"tasks"`
}

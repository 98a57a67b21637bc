package v1

// WorkflowInput is an input that a workflow declares: a string that a task gives by name.
type WorkflowInput struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Default     string `json:"default,omitempty" doc:"stands for it when it is not given"`
}

// WorkflowStep is a step that a workflow declares.
type WorkflowStep struct {
	ID   string `json:"id" doc:"step-N when the text has none"`
	Name string `json:"name,omitempty"`
	Uses string `json:"uses,omitempty" doc:"the runner; left out: the task's"`
	Goal string `json:"goal,omitempty" doc:"shortened"`
	If   string `json:"if,omitempty" doc:"success, failure or always"`
}

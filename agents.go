package phonebooth

import _ "embed"

//go:embed llms.txt
var forAgents string

// ForAgents is the repository's llms.txt: what a language model must know to use Phonebooth.
func ForAgents() string { return forAgents }

package reasoning

import (
	"encoding/json"

	"savant/internal/jsonvalue"
)

// describe describes the prompt of a remote service that does not describe it itself,
// by the parts of the request. Sizes are estimated at four bytes a token. The hash
// excludes the ids, so that the same input has the same hash in every run.
func (r Request) describe() *Prompt {
	prompt := &Prompt{}
	for _, each := range r.parts() {
		tokens := (len(each.Text) + 3) / 4
		prompt.Tokens += tokens
		prompt.Sections = append(prompt.Sections, Section{Name: each.Name, Tokens: tokens})
	}
	r.SessionID, r.RunID = "", ""
	body, err := r.Encode()
	if err != nil {
		return nil // such a request cannot be sent either
	}
	prompt.Hash = jsonvalue.HexSum(body)
	return prompt
}

// parts are the parts of the request that a model may be shown, as JSON.
func (r Request) parts() (parts []PromptPart) {
	for _, part := range []struct {
		name  string
		value any
	}{
		{"persona", r.Persona}, {"driver", r.Driver}, {"rules", r.Rules}, {"goal", r.Goal}, {"tools", r.Tools}, {"last_output", r.LastOutput},
		{"memory", r.Memory}, {"repo", r.Repo}, {"extras", r.Policy},
	} {
		raw, err := json.Marshal(part.value)
		if err != nil {
			return nil // such a request cannot be sent either
		}
		parts = append(parts, PromptPart{part.name, string(raw)})
	}
	return parts
}

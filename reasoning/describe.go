package reasoning

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// describe says what a service outside was shown, if it does not say so itself:
// the parts of the request. Sizes are estimated, one token for each four bytes.
// The hash is that of the request without its ids, so that the same input has
// the same hash in every run.
func (r Request) describe() *Prompt {
	made := &Prompt{}
	for _, part := range []struct {
		name  string
		value any
	}{
		{"persona", r.Persona}, {"driver", r.Driver}, {"rules", r.Rules}, {"goal", r.Goal}, {"tools", r.Tools}, {"last_output", r.LastOutput},
		{"memory", r.Memory}, {"repo", r.Repo}, {"extras", r.Policy},
	} {
		raw, err := json.Marshal(part.value)
		if err != nil {
			return nil // then it is not sent either
		}
		tokens := (len(raw) + 3) / 4
		made.Tokens += tokens
		made.Sections = append(made.Sections, Section{Name: part.name, Tokens: tokens})
	}
	r.SessionID, r.RunID = "", ""
	body, err := r.Encode()
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(body)
	made.Hash = hex.EncodeToString(sum[:])
	return made
}

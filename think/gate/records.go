package gate

// KindRefused is the kind of a record that the gate writes. It changes nothing of its run.
const KindRefused = "refused"

// Refusal is the data of a record of kind KindRefused.
type Refusal struct {
	Client  string `json:"client"`
	Session string `json:"session,omitempty"`
	Agent   string `json:"agent,omitempty"`
	// Tool is the tool as the client names it, Input the digest of its arguments.
	Tool  string `json:"tool"`
	Input string `json:"input"`
	Step  string `json:"step,omitempty"`
	Why   string `json:"why"`
	// Times is the number of refusals in the record, if more than one.
	Times int `json:"times,omitempty"`
}

// Count returns the number of refusals in the record.
func (r Refusal) Count() int { return max(1, r.Times) }

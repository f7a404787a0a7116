package proof

import (
	"context"
	"encoding/json"

	"savant/think/state"
)

// AgentRun stands for the workflow in the proof of a run of the agent, which follows none.
const AgentRun = "agent.run"

// Deed is a record of a run of the agent.
type Deed struct {
	// Status is how the run stands if nothing follows.
	Kind, Time, Status string
	Data               json.RawMessage
}

// BuildAgent makes the statement of a run of the agent, whose journal the caller has
// verified. The records are chained here.
func (r Runs) BuildAgent(ctx context.Context, in Request, deeds []Deed) (*Statement, error) {
	var records []state.Record
	last := state.Link{}
	for _, each := range deeds {
		sealed, _, err := state.Seal(in.Key, last, state.Record{Version: last.Version + 1, Kind: each.Kind, Time: each.Time, Status: each.Status, Data: each.Data}, in.Time)
		if err != nil {
			return nil, err
		}
		last = state.Link{Version: sealed.Version, Hash: sealed.Hash}
		records = append(records, sealed)
	}
	return r.build(ctx, in, records, 0, nil)
}

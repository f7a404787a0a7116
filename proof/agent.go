package proof

import (
	"context"
	"encoding/json"
	"slices"

	"savant/think/state"
)

// AgentRun stands for the workflow in the proof of a run of the agent, which follows none.
const AgentRun = "agent.run"

// Deed is a record of a run of the agent.
type Deed struct {
	Kind, Time string
	Data       json.RawMessage
}

// BuildAgent makes the statement of a run of the agent, whose journal the caller has
// verified. The records are chained here.
func (r Runs) BuildAgent(ctx context.Context, in Request, deeds []Deed) (*Statement, error) {
	if err := bounded(in.Key, len(deeds)); err != nil {
		return nil, err
	}
	b, last := r.builder(in, len(deeds)), state.Link{}
	p := &b.out.Predicate
	for _, each := range deeds {
		sealed, line, err := state.Seal(in.Key, last, state.Record{Version: last.Version + 1, Kind: each.Kind, Time: each.Time, Data: each.Data}, in.Time)
		if err != nil {
			return nil, err
		}
		last = state.Link{Version: sealed.Version, Hash: sealed.Hash}
		p.Records = append(p.Records, string(line))
	}
	p.Run.Head = last.Hash
	return b.out, b.fill(ctx, in.Commit, b.agentClaims)
}

func (b *builder) agentClaims(_ context.Context, line []entry) error {
	p := &b.out.Predicate
	answered := answers(line, 0, nil)
	for _, each := range line {
		if claim, ok := answered[each.Data.Step]; ok && claim.Version == each.Version {
			claim.Status = each.Data.Status
			p.Claims = append(p.Claims, claim)
		}
	}
	p.Graph, p.Run.Status = p.agentGraph(b.entries), agentStatus(b.entries)
	p.Models = modelsOf(b.entries, 0)
	return nil
}

// agentGraph are the calls of a run of the agent in the order of the claims.
func (p *Predicate) agentGraph(entries []entry) []Node {
	nodes := []Node{}
	for _, each := range p.Claims {
		if call := entries[each.Version-1].Data.Call; call != "" {
			nodes = append(nodes, Node{ID: each.Step, Call: call, Deps: []string{}})
		}
	}
	return nodes
}

// agentStatus is how a run of the agent ended by its last record.
func agentStatus(entries []entry) string {
	if last := entries[len(entries)-1]; last.Kind == "finished" {
		return last.Data.Status
	}
	return "interrupted"
}

// isOfAgent reports whether the records show the status, the graph and what the claims say
// of the steps. Nothing else shows it, since no workflow computes a run of the agent again.
func (p *Predicate) isOfAgent(entries []entry) bool {
	for _, each := range p.Claims {
		if each.Version == 0 || entries[each.Version-1].Data.Status != each.Status {
			return false
		}
	}
	return p.Run.Status == agentStatus(entries) && slices.EqualFunc(p.Graph, p.agentGraph(entries), sameNode)
}

func sameNode(a, b Node) bool {
	return a.ID == b.ID && a.Call == b.Call && a.Writes == b.Writes && slices.Equal(a.Deps, b.Deps)
}

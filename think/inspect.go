package think

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ExplainInput names a step, of a run or of a workflow.
type ExplainInput struct {
	Workflow string `json:"workflow,omitempty"`
	RunID    string `json:"run_id,omitempty"`
	StepID   string `json:"step_id"`
}

// Explain tells why a step is where it is: UNKNOWN_STEP, UNKNOWN_RUN,
// UNKNOWN_WORKFLOW.
func (e *Engine) Explain(ctx context.Context, in ExplainInput) (*flow.Explanation, error) {
	if in.RunID == "" {
		graph, err := e.Library.Graph(in.Workflow)
		if err != nil {
			return nil, err
		}
		return graph.Explain(in.StepID)
	}
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	return e.explain(ctx, l.past(), l.run, in.StepID)
}

// StateListInput selects runs.
type StateListInput struct {
	Workflow string `json:"workflow,omitempty"`
	Offset   int    `json:"offset,omitempty" min:"0"`
	Limit    int    `json:"limit,omitempty" doc:"default 50"`
}

// StateList is a part of the listing of runs, the last changed first. Total
// counts them all.
type StateList struct {
	Runs  []state.Info `json:"runs"`
	Total int          `json:"total"`
}

// StateList lists the runs from an offset, 50 unless a limit says otherwise.
func (e *Engine) StateList(ctx context.Context, in StateListInput) (*StateList, error) {
	infos, err := e.Store.List(ctx, state.Filter{Workflow: plainName(in.Workflow)})
	if err != nil {
		return nil, err
	}
	limit := in.Limit
	if limit <= 0 {
		limit = 50
	}
	out := &StateList{Runs: []state.Info{}, Total: len(infos)}
	if from := min(in.Offset, len(infos)); from < len(infos) {
		out.Runs = infos[from : from+min(limit, len(infos)-from)]
	}
	return out, nil
}

// Outputs returns the outputs of a finished run: UNKNOWN_RUN;
// INVALID_TRANSITION while it goes on.
func (e *Engine) Outputs(ctx context.Context, workflow, run string) (any, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	final := l.now.Final
	if final == nil {
		return nil, fault.New(fault.InvalidTransition, "run %q is %s: it has no outputs yet", run, l.now.Status)
	}
	return final.Outputs, nil
}

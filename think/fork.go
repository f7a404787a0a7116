package think

import (
	"context"

	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// Adoption is a graph that a fork follows instead of its run's graph, and the named
// schemas of that graph.
type Adoption struct {
	Graph   *flow.Graph
	Schemas library.Named
}

// Fork starts a new run with the answers of an old one up to the last of records; an
// empty id draws a new id. A person's answers do not carry over: the fork stops before
// the first. A cancellation does not carry over either. adopted, unless nil, replaces
// the run's graph. INVALID_PARAMS, STATE_CONFLICT, STATE_CORRUPT.
func (e *Engine) Fork(ctx context.Context, key state.Key, records []state.Record, id string, adopted *Adoption, by Caller) (*Reply, error) {
	history, err := e.replay(ctx, key, records, 0)
	if err != nil {
		return nil, err
	}
	line, err := Effective(records)
	if err != nil {
		return nil, err
	}
	last := records[len(records)-1]
	begin := beginning{graph: history.run.View().Graph(), schemas: history.plan.Schemas, params: history.plan.Params, terms: history.plan.Terms,
		commands: history.plan.Commands, by: by, from: &lineage{Run: key.Run, Version: last.Version, Hash: last.Hash}}
	if adopted != nil {
		begin.graph, begin.schemas, begin.named = adopted.Graph, "", adopted.Schemas
		if begin.params, err = adopted.Graph.Workflow.Bind(begin.params); err != nil {
			return nil, err
		}
	}
	target := state.Key{Workflow: key.Workflow, Run: id}
	if target.Run == "" {
		target.Run = e.NewID()
	}
	if _, err := e.create(ctx, target, begin); err != nil {
		return nil, err
	}
	for _, record := range line[1:] {
		if record.Kind == kindPerson || record.Kind == KindCancelled {
			break
		}
		if err := e.carry(ctx, target, record); err != nil {
			return nil, err
		}
	}
	l, err := e.open(ctx, target.Workflow, target.Run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if imported, err := e.imported(ctx, key); err != nil {
		return nil, err
	} else if imported > 0 { // what it carries over was not seen here either
		if err := e.Imports.MarkImported(ctx, target, state.Link{Version: l.version, Hash: l.hash}); err != nil {
			return nil, err
		}
	}
	return restored(e.currentReply(ctx, l))
}

// carry gives a recorded answer to a fork. If the run refused it, the fork refuses it
// too.
func (e *Engine) carry(ctx context.Context, key state.Key, record state.Record) error {
	given, err := e.recorded(ctx, record, nil)
	if err != nil {
		return err
	}
	l, err := e.open(ctx, key.Workflow, key.Run)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	step, err := l.run.View().RecordedStep(given.step)
	if err != nil {
		return err
	}
	_, err = e.settle(ctx, l, step, given)
	return err
}

package think

import (
	"context"
	"slices"
	"strings"

	"savant/fault"
	"savant/think/flow"
	"savant/think/library"
)

// pinned returns the graph that a run was planned with, from its artifacts.
func (e *Engine) pinned(ctx context.Context, plan planData) (*flow.Graph, error) {
	key := graphKey(plan.Workflow, plan.Pins, plan.Schemas)
	e.mu.Lock()
	graph := e.graphs[key]
	e.mu.Unlock()
	if graph != nil {
		return graph, nil
	}
	set, current, err := e.pinnedSchemas(ctx, plan.Schemas)
	if err != nil {
		return nil, err
	}
	find := func(reference string) (*flow.Workflow, error) {
		pinned, ok := plan.Pins[reference]
		if !ok {
			return nil, fault.New(fault.StateCorrupt, "the run does not pin the workflow %q", reference)
		}
		src, err := e.Store.Artifact(ctx, pinned.Digest)
		if err != nil {
			return nil, err
		}
		if !current {
			return flow.Parse(pinned.File, src, set)
		}
		return e.Library.Parse(pinned.File, src)
	}
	root, err := find(plan.Workflow)
	if err != nil {
		return nil, err
	}
	graph, err = library.Link(root, find)
	if err != nil {
		return nil, err
	}
	e.remember(key, graph)
	return graph, nil
}

func (e *Engine) remember(key string, graph *flow.Graph) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.graphs) >= maxLive {
		e.graphs = map[string]*flow.Graph{}
	}
	e.graphs[key] = graph
}

func graphKey(root string, pins map[string]pin, schemas string) string {
	names := make([]string, 0, len(pins))
	for name := range pins {
		names = append(names, name+"="+pins[name].Digest)
	}
	slices.Sort(names)
	return root + "\x00" + schemas + "\x00" + strings.Join(names, "\x00")
}

// pins keeps the sources of a graph's workflows and names them.
func (e *Engine) pin(ctx context.Context, graph *flow.Graph) (map[string]pin, error) {
	pins := map[string]pin{}
	for reference, workflow := range graph.Workflows() {
		digest, err := e.Store.PutArtifact(ctx, workflow.Source)
		if err != nil {
			return nil, err
		}
		pins[reference] = pin{Version: workflow.Version, Digest: digest, File: workflow.File}
	}
	return pins, nil
}

// drifted says whether a workflow's file is not what the run follows any more.
func (e *Engine) drifted(pins map[string]pin) bool {
	for reference, pinned := range pins {
		if !e.Library.Current(reference, pinned.Digest) {
			return true
		}
	}
	return false
}

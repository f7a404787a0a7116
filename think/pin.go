package think

import (
	"context"

	"savant/fault"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// pinned returns the graph that a run was planned with, from its artifacts.
func (e *Engine) pinned(ctx context.Context, plan planData) (*flow.Graph, error) {
	if plan.Edition > flow.CurrentEdition {
		return nil, fault.New(fault.StateCorrupt, "the run was planned with edition %d of the language, and this Savant knows %d: upgrade it: %w", plan.Edition, flow.CurrentEdition, state.ErrNewerFormat)
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
	return library.Link(root, find, plan.Edition)
}

// pin keeps the sources of a graph's workflows and names them.
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

// drifted reports whether a workflow's file differs from the run's pin.
func (e *Engine) drifted(pins map[string]pin) bool {
	for reference, pinned := range pins {
		if !e.Library.Current(reference, pinned.Digest) {
			return true
		}
	}
	return false
}

// A run also pins the named schemas: a valid result stays valid when schemas/ is
// edited.

// pinSchemas stores named schemas, by default the current ones, and returns their
// digest.
func (e *Engine) pinSchemas(ctx context.Context, named library.Named) (_ string, err error) {
	if named.Set == nil {
		if named, err = e.Library.Named(); err != nil {
			return "", err
		}
	}
	return e.Store.PutArtifact(ctx, named.Text)
}

// pinnedSchemas returns the named schemas of a digest, and whether they are the current
// ones.
func (e *Engine) pinnedSchemas(ctx context.Context, digest string) (set *schemas.Set, current bool, err error) {
	now, err := e.Library.Named()
	if err == nil && digest == now.Digest {
		return now.Set, true, nil
	}
	text, err := e.Store.Artifact(ctx, digest)
	if err != nil {
		return nil, false, err
	}
	set, err = library.ReadNamed(text)
	return set, false, err
}

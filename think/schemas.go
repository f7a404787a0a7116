package think

import (
	"context"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
)

// A run is pinned to the named schemas too: a result that was good stays good
// when somebody edits schemas/.

// currentSchemas returns the current named schemas. Of a broken one their text
// holds the reason, a string, so that a run that was told it once is told the
// same again.
func (e *Engine) currentSchemas() (namedSchemas, error) {
	set, err := e.Library.Schemas()
	if err != nil {
		return namedSchemas{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.schemas.set == set {
		return e.schemas, nil
	}
	all := map[string]any{}
	for _, name := range set.Names() {
		all[name], _ = set.Source(name)
		if broken := set.Broken(name); broken != nil {
			all[name] = broken.Details
			e.Logger.Warn("a schema file is of no use; workflows that refer to it are refused", "error", broken.Details)
		}
	}
	text, err := jsonvalue.Encode(all)
	if err != nil {
		return namedSchemas{}, fault.New(fault.Internal, "encoding the named schemas: %w", err)
	}
	e.schemas = namedSchemas{set, text, hexSum(text)}
	return e.schemas, nil
}

// readWorkflow returns the graph of a workflow as its files are now, and the schemas it
// was read with: one moment of both, also while somebody edits them.
func (e *Engine) readWorkflow(ctx context.Context, workflow string) (*flow.Graph, namedSchemas, error) {
	for {
		before, err := e.currentSchemas()
		if err != nil {
			return nil, namedSchemas{}, err
		}
		graph, err := e.graph(workflow)
		if err != nil {
			return nil, namedSchemas{}, err
		}
		after, err := e.currentSchemas()
		if err != nil || after.set == before.set || ctx.Err() != nil {
			return graph, after, err
		}
	}
}

// namedSchemas are those of one moment, encoded as one JSON object.
type namedSchemas struct {
	set    *schemas.Set
	text   []byte
	digest string
}

// pinSchemas keeps named schemas, the current ones where none are given, and
// returns their digest, empty where there are none.
func (e *Engine) pinSchemas(ctx context.Context, named namedSchemas) (_ string, err error) {
	if named.set == nil {
		if named, err = e.currentSchemas(); err != nil {
			return "", err
		}
	}
	if len(named.set.Names()) == 0 {
		return "", nil
	}
	return e.Store.PutArtifact(ctx, named.text)
}

// pinnedSchemas returns the named schemas of a digest; the current ones where
// a run was planned before they were kept. A run goes on with its own, whatever
// became of the current ones.
func (e *Engine) pinnedSchemas(ctx context.Context, digest string) (set *schemas.Set, current bool, err error) {
	now, err := e.currentSchemas()
	if digest == "" || err == nil && digest == now.digest {
		return now.set, true, err
	}
	text, err := e.Store.Artifact(ctx, digest)
	if err != nil {
		return nil, false, err
	}
	set, err = readSchemas(text)
	return set, false, err
}

// readSchemas reads the text of named schemas.
func readSchemas(text []byte) (*schemas.Set, error) {
	value, err := jsonvalue.Decode(text)
	all, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil, fault.New(fault.StateCorrupt, "the schemas that a run is pinned to cannot be read")
	}
	broken := map[string]string{}
	for name, each := range all {
		if reason, isText := each.(string); isText {
			broken[name] = reason
			delete(all, name)
		}
	}
	empty, err := schemas.Load()
	if err != nil {
		return nil, err
	}
	set, err := empty.With(all)
	if err != nil {
		return nil, err
	}
	return set.WithBroken(broken), nil
}

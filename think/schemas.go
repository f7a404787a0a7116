package think

import (
	"context"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// A run is pinned to the named schemas too: a result that was good stays good
// when somebody edits schemas/.

// schemaText returns the current named schemas as one JSON object, and its
// digest. Of a broken one it holds the reason, a text, so that a run that was
// told it once is told the same again.
func (e *Engine) schemaText() (set *schemas.Set, text []byte, digest string, err error) {
	set, err = e.Library.Schemas()
	if err != nil {
		return nil, nil, "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.schemas.set == set {
		return set, e.schemas.text, e.schemas.digest, nil
	}
	all := map[string]any{}
	for _, name := range set.Names() {
		all[name], _ = set.Source(name)
		if broken := set.Broken(name); broken != nil {
			all[name] = broken.Details
			e.Logger.Warn("a schema file is of no use; workflows that refer to it are refused", "error", broken.Details)
		}
	}
	if text, err = jsonvalue.Encode(all); err != nil {
		return nil, nil, "", fault.New(fault.Internal, "encoding the named schemas: %w", err)
	}
	e.schemas = namedSchemas{set, text, hexSum(text)}
	return set, text, e.schemas.digest, nil
}

// namedSchemas are the current ones, encoded.
type namedSchemas struct {
	set    *schemas.Set
	text   []byte
	digest string
}

// pinSchemas keeps the current named schemas and returns their digest, empty
// where there are none.
func (e *Engine) pinSchemas(ctx context.Context) (string, error) {
	set, text, _, err := e.schemaText()
	if err != nil || len(set.Names()) == 0 {
		return "", err
	}
	return e.Store.PutArtifact(ctx, text)
}

// pinnedSchemas returns the named schemas of a digest; the current ones where
// a run was planned before they were kept. A run goes on with its own, whatever
// became of the current ones.
func (e *Engine) pinnedSchemas(ctx context.Context, digest string) (set *schemas.Set, current bool, err error) {
	set, _, now, err := e.schemaText()
	if digest == "" || err == nil && digest == now {
		return set, true, err
	}
	text, err := e.Store.Artifact(ctx, digest)
	if err != nil {
		return nil, false, err
	}
	set, err = readSchemas(text)
	return set, false, err
}

// readSchemas reads what schemaText wrote.
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

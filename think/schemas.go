package think

import (
	"context"

	"savant/schemas"
	"savant/think/library"
)

// A run also pins the named schemas: a valid result stays valid when schemas/ is
// edited.

// pinSchemas stores named schemas, by default the current ones, and returns their
// digest; "" if there are none.
func (e *Engine) pinSchemas(ctx context.Context, named library.Named) (_ string, err error) {
	if named.Set == nil {
		if named, err = e.Library.Named(); err != nil {
			return "", err
		}
	}
	if len(named.Set.Names()) == 0 {
		return "", nil
	}
	return e.Store.PutArtifact(ctx, named.Text)
}

// pinnedSchemas returns the named schemas of a digest, and whether they are the current
// ones. Runs planned before schemas were pinned use the current ones.
func (e *Engine) pinnedSchemas(ctx context.Context, digest string) (set *schemas.Set, current bool, err error) {
	now, err := e.Library.Named()
	if digest == "" || err == nil && digest == now.Digest {
		return now.Set, true, err
	}
	text, err := e.Store.Artifact(ctx, digest)
	if err != nil {
		return nil, false, err
	}
	set, err = library.ReadNamed(text)
	return set, false, err
}

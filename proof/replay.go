package proof

import (
	"context"
	"slices"

	"savant/fault"
	"savant/think"
	"savant/think/audit"
	"savant/think/state"
)

// replay computes every state and instruction again from the proof alone, and with them
// what no record answers: which steps the engine computed and the graph.
func (v *verifier) replay(ctx context.Context) *Reason {
	if v.engine == nil || v.statement.isRedacted() || v.statement.Predicate.Run.Workflow == AgentRun {
		return nil
	}
	p := v.statement.Predicate
	options := v.engine.Options
	var records []state.Record
	for _, each := range v.statement.entries {
		records = append(records, each.Record)
	}
	options.Store = fileStore{options.Store, records, p.texts()}
	engine := think.New(options)
	defer engine.Close()
	key := state.Key{Workflow: p.Run.Workflow, Run: p.Run.ID}
	found, err := audit.New(engine).Verify(ctx, key, records)
	if err != nil {
		return refuse(BadReplay, "%s", fault.From(err).Message())
	}
	if found != nil {
		return refuse(BadReplay, "record %d does not follow from the records before it", found.Version)
	}
	var reason *Reason
	err = engine.View(ctx, key, 0, func(view *think.View) error {
		graph, claims := graphOf(view), claimsOf(view, v.line, &p)
		switch {
		case !slices.EqualFunc(graph, p.Graph, func(a, b Node) bool { return a.ID == b.ID && a.Call == b.Call && slices.Equal(a.Deps, b.Deps) }):
			reason = refuse(BadReplay, "the graph is not that of the workflow")
		case !slices.Equal(claims, p.Claims):
			reason = refuse(BadReplay, "the claims are not those that a replay shows")
		case string(view.Now().Status) != p.Run.Status:
			reason = refuse(BadReplay, "the run is %s, and the proof says %s", view.Now().Status, fault.Cut(p.Run.Status, maxShown))
		}
		return nil
	})
	if err != nil {
		return refuse(BadReplay, "%s", fault.From(err).Message())
	}
	v.replayed = reason == nil
	return reason
}

// fileStore gives a replay the records and texts of a proof, and no others.
type fileStore struct {
	state.Storage
	records []state.Record
	texts   map[string]string
}

// Records implements state.Journal; the chain was verified.
func (s fileStore) Records(_ context.Context, _ state.Key, after, limit int) ([]state.Record, error) {
	if limit <= 0 {
		limit = len(s.records)
	}
	after = min(after, len(s.records))
	return s.records[after:min(len(s.records), after+limit)], nil
}

// Head implements state.Journal.
func (s fileStore) Head(context.Context, state.Key) (version int, hash string, err error) {
	last := s.records[len(s.records)-1]
	return last.Version, last.Hash, nil
}

// Artifact implements state.Artifacts; the digests were verified.
func (s fileStore) Artifact(_ context.Context, digest string) ([]byte, error) {
	text, ok := s.texts[digest]
	if !ok {
		return nil, fault.New(fault.StateCorrupt, "the proof lacks the text %s", fault.Cut(digest, maxShown))
	}
	return []byte(text), nil
}

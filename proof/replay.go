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
	records := make([]state.Record, 0, len(p.Records))
	for _, each := range v.statement.entries {
		records = append(records, each.Record)
	}
	options.Store = fileStore{options.Store, p.texts()}
	engine := think.New(options)
	defer engine.Close()
	at, found, err := audit.New(engine).Verify(ctx, state.Key{Workflow: p.Run.Workflow, Run: p.Run.ID}, records)
	if err != nil {
		return refuse(BadReplay, "%s", fault.From(err).Message())
	}
	if found != nil {
		return refuse(BadReplay, "record %d does not follow from the records before it", found.Version)
	}
	graph, claims, status := graphOf(&at.View), v.statement.claimsOf(&at.View), at.Now().Status
	switch {
	case !slices.EqualFunc(graph, p.Graph, func(a, b Node) bool { return a.ID == b.ID && a.Call == b.Call && slices.Equal(a.Deps, b.Deps) }):
		return refuse(BadReplay, "the graph is not that of the workflow")
	case !slices.Equal(claims, p.Claims):
		return refuse(BadReplay, "the claims are not those that a replay shows")
	case string(status) != p.Run.Status:
		return refuse(BadReplay, "the run is %s, and the proof says %s", status, fault.Cut(p.Run.Status, maxShown))
	}
	v.replayed = true
	return nil
}

// fileStore gives a replay the texts of a proof, and no others. The records it has in hand.
type fileStore struct {
	state.Storage
	texts map[string]string
}

// Artifact implements state.Artifacts; the digests were verified.
func (s fileStore) Artifact(_ context.Context, digest string) ([]byte, error) {
	text, ok := s.texts[digest]
	if !ok {
		return nil, fault.New(fault.StateCorrupt, "the proof lacks the text %s", fault.Cut(digest, maxShown))
	}
	return []byte(text), nil
}

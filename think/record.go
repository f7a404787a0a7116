package think

import (
	"context"
	"encoding/json"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow"
	"savant/think/gate"
	"savant/think/library"
	"savant/think/state"
)

// The kinds of records in a run's journal. KindReset returns to an earlier version; no
// record follows a cancellation.
const (
	kindPlan      = "plan"
	kindResult    = "result"
	kindPerson    = "person"
	KindCancelled = "cancelled"
	KindReset     = "reset"
	// KindRefused records a call that the gate refused. It does not change the run.
	KindRefused = gate.KindRefused
)

// pin is one workflow of a run, at the version of its plan. The source is an artifact
// under Digest.
type pin struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
	File    string `json:"file"`
}

// planData is the data of the first record.
type planData struct {
	Workflow string         `json:"workflow"`
	Pins     map[string]pin `json:"pins"`
	// Schemas is the digest of the run's named schemas.
	Schemas string         `json:"schemas"`
	Params  map[string]any `json:"params"`
	// Edition is the reading of the language that the run was planned with.
	Edition flow.Edition `json:"edition,omitempty"`
	// Terms are fixed at plan time, also for newer versions that replay the run.
	flow.Terms
	// Commands are the digests of the commands that the run's tools carry out, as
	// they were when it was planned.
	Commands map[string]string `json:"commands,omitempty"`
	// Ruled says that a workflow of the run has rules.
	Ruled bool `json:"ruled,omitempty"`
	// Lineage is the origin of a fork.
	Lineage *lineage `json:"lineage,omitempty"`
	attribution
	Reply reply `json:"reply"`
}

// lineage names the version of the run that a fork continues.
type lineage struct {
	Run     string `json:"run_id"`
	Version int    `json:"version"`
	Hash    string `json:"hash"`
}

// resultData is the data of an answer's record.
type resultData struct {
	answerData
	Reply reply `json:"reply"`
}

// answerData is the part of an answer's record that replay needs.
type answerData struct {
	Step string `json:"step"`
	// Attempt is the client's attempt number, 0 if it gave none.
	Attempt int    `json:"attempt,omitempty"`
	Digest  string `json:"digest"`
	// Value is the digest of the capture where the step is done with this,
	// sameDigest where that is the answer's own.
	Value   string `json:"value,omitempty"`
	Size    int    `json:"size,omitempty"`
	Person  bool   `json:"person,omitempty"`
	Shown   string `json:"shown,omitempty"`
	Witness string `json:"witness,omitempty"`
	// Receipt is the receipt of the call, if the witness is the gateway. Result has a copy
	// of its result, because receipts are garbage collected.
	Receipt string `json:"receipt,omitempty"`
	Late    bool   `json:"late,omitempty"`
	// During is the version of the answer whose call asked the person.
	During   int       `json:"during,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
	// Used is what the answer's models took, as their runtime says it.
	Used json.RawMessage `json:"used,omitempty"`
	attribution
	// ResultRef is the artifact that holds a large result.
	ResultRef string `json:"result_ref,omitempty"`
	// Result is the answer as it came; a large one stands under ResultRef.
	Result json.RawMessage `json:"result,omitempty"`
}

// witness says who saw the result, where the record leaves that out.
func (d answerData) witness() string {
	switch {
	case d.Person:
		return flow.WitnessPerson
	case d.Witness == "":
		return flow.WitnessSelf
	}
	return d.Witness
}

// resetData is the data of a reset record.
type resetData struct {
	To   int    `json:"to"`
	Name string `json:"checkpoint,omitempty"`
	attribution
	Reply reply `json:"reply"`
}

// inlineLimit is the size from which a result is kept as an artifact instead
// of in the journal; artifacts are shared by equal results.
const inlineLimit = 8 << 10

// sameDigest replaces the digest of a capture that equals the answer, as most do. A
// second digest would take a twelfth of a 1 KB record.
const sameDigest = "="

// write appends the record of an event to a run's journal.
func (e *Engine) write(ctx context.Context, key state.Key, kind string, out flow.Outcome, at time.Time, data any) (state.Record, error) {
	encoded, err := jsonvalue.Encode(data)
	if err != nil {
		return state.Record{}, fault.New(fault.Internal, "encoding the record of a %s: %w", kind, err)
	}
	return e.Store.Append(ctx, key, state.Record{Version: out.Version, Kind: kind, Time: at.UTC().Format(time.RFC3339Nano),
		Status: string(out.Status), Data: encoded, State: out.Hash})
}

// decodeData reads the data of a record, numbers of any size as they were.
func decodeData(record state.Record, into any) error {
	if err := jsonvalue.UnmarshalStored(record.Data, into); err != nil {
		return fault.New(fault.StateCorrupt, "record %d: its data cannot be read", record.Version)
	}
	return nil
}

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
		if named, err = e.Library.NamedSchemas(); err != nil {
			return "", err
		}
	}
	return e.Store.PutArtifact(ctx, named.Text)
}

// pinnedSchemas returns the named schemas of a digest, and whether they are the current
// ones.
func (e *Engine) pinnedSchemas(ctx context.Context, digest string) (set *schemas.Set, current bool, err error) {
	now, err := e.Library.NamedSchemas()
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

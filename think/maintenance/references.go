package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"savant/fault"
	"savant/think"
	"savant/think/state"
)

// referenceKind is the purpose of a record's reference to an artifact.
type referenceKind string

const (
	workflowSource  referenceKind = "workflow" // without it the run cannot be read
	namedSchemaText referenceKind = "schemas"  // without it the run cannot be read
	stepResult      referenceKind = "result"   // without it the record cannot be replayed
	finalArtifact   referenceKind = "artifact" // a replay makes it again
)

// reference is an artifact that a record names.
type reference struct {
	Version int
	Kind    referenceKind
	// Name is the workflow, the step or the artifact.
	Name   string
	Digest string
}

// pin is a workflow that a run follows, by the digest of its source.
type pin struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
	File    string `json:"file"`
}

// finalReference is an artifact of a finished run.
type finalReference struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// references lists the artifacts that a record names, workflows by name.
func references(record state.Record) ([]reference, error) {
	var data struct {
		Pins      map[string]pin `json:"pins"`
		Schemas   string         `json:"schemas"`
		Step      string         `json:"step"`
		ResultRef string         `json:"result_ref"`
		Reply     struct {
			Reply struct {
				Artifacts []finalReference `json:"artifacts"`
			} `json:"reply"`
			More []string `json:"more_artifacts"`
		} `json:"reply"`
	}
	if err := json.Unmarshal(record.Data, &data); err != nil {
		return nil, fault.New(fault.StateCorrupt, "record %d: its data cannot be read", record.Version)
	}
	var found []reference
	for _, name := range slices.Sorted(maps.Keys(data.Pins)) {
		found = append(found, reference{record.Version, workflowSource, name, data.Pins[name].Digest})
	}
	if data.Schemas != "" {
		found = append(found, reference{record.Version, namedSchemaText, "schemas", data.Schemas})
	}
	if data.ResultRef != "" {
		found = append(found, reference{record.Version, stepResult, data.Step, data.ResultRef})
	}
	for _, each := range data.Reply.Reply.Artifacts {
		found = append(found, reference{record.Version, finalArtifact, each.Name, each.SHA256})
	}
	for _, digest := range data.Reply.More {
		found = append(found, reference{record.Version, finalArtifact, "", digest})
	}
	return found, nil
}

// allReferences lists the references of a run, by version.
func allReferences(records []state.Record) ([]reference, error) {
	var all []reference
	for _, record := range records {
		found, err := references(record)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// lostArtifact is a reference to an artifact that is missing or changed.
type lostArtifact struct {
	reference
	// blocking says that the run cannot continue without it.
	blocking bool
	cause    error
}

func (l lostArtifact) problem() state.Problem {
	return state.Problem{File: state.ArtifactFile(l.Digest), Blocking: l.blocking,
		Message: fmt.Sprintf("record %d names it as the %s %q: %s", l.Version, l.Kind, l.Name, fault.From(l.cause).Message())}
}

// lostArtifacts returns the lost artifacts of a run, by version. A lost result is
// tolerated if only steps before a reset used it.
func (k *Keeper) lostArtifacts(ctx context.Context, key state.Key) ([]lostArtifact, error) {
	records, err := k.dir.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	all, err := allReferences(records)
	if err != nil {
		return nil, err
	}
	line, err := think.Effective(records)
	if err != nil {
		return nil, err
	}
	counts := map[int]bool{}
	for _, record := range line {
		counts[record.Version] = true
	}
	var lost []lostArtifact
	for _, each := range all {
		_, err := k.dir.Artifact(ctx, each.Digest)
		if err != nil && !errors.Is(err, fault.StateCorrupt) {
			return nil, err
		}
		if err != nil {
			blocking := each.Kind == workflowSource || each.Kind == namedSchemaText || each.Kind == stepResult && counts[each.Version]
			lost = append(lost, lostArtifact{each, blocking, err})
		}
	}
	return lost, nil
}

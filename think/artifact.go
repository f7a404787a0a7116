package think

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/state"
)

// defaultPart is the default size in bytes of a part of think.state.get; it fits the
// smallest limit that a client has for a reply.
const defaultPart = 3000

// Part is a part of a long value.
type Part struct {
	// Bytes is the size of the whole, Offset where Text begins in it: before the offset that
	// was asked for where that is inside a character.
	Bytes  int    `json:"bytes"`
	Offset int    `json:"offset"`
	Text   string `json:"text"`
	// Next is the offset of the next part; absent after the last.
	Next int `json:"next,omitempty"`
}

// ArtifactInput names a value by its reference.
type ArtifactInput struct {
	Ref    string `json:"ref" doc:"the $artifact of a reply, or a SHA-256" example:"savant://runs/hello/r1/outputs"`
	Offset int    `json:"offset,omitempty" min:"0"`
	Limit  int    `json:"limit,omitempty" min:"4" max:"32768" doc:"bytes"`
}

// maxPart is the default and largest size of a part that Artifact returns.
const maxPart = 32 << 10

// Artifact reads a part of a value that a reply only names: its JSON, or a text as it
// is. INVALID_PARAMS for a reference of nothing or an offset beyond the end,
// UNKNOWN_RUN, UNRESOLVED_VAR, STATE_CORRUPT for a damaged artifact.
func (e *Engine) Artifact(ctx context.Context, in ArtifactInput) (*Part, error) {
	data, err := e.referred(ctx, in.Ref)
	if err != nil {
		return nil, err
	}
	if in.Limit <= 0 {
		in.Limit = maxPart
	}
	return partOf(data, in.Offset, in.Limit)
}

// referred returns what a reference stands for: a SHA-256 or the URI of an artifact, or
// the URI of a value of a run.
func (e *Engine) referred(ctx context.Context, ref string) ([]byte, error) {
	rest, is := strings.CutPrefix(ref, RunPrefix)
	if !is {
		digest := strings.TrimPrefix(strings.TrimPrefix(ref, ArtifactPrefix), "sha256:")
		data, err := e.Store.Artifact(ctx, digest)
		if errors.Is(err, state.ErrNoArtifact) {
			return nil, fault.New(fault.InvalidParams, "ref: there is no value with the SHA-256 %s: copy the $artifact of a reply", digest)
		}
		return data, err
	}
	parts := append(strings.SplitN(rest, "/", 4), "", "", "")
	workflow, run, kind, name := parts[0], parts[1], parts[2], parts[3]
	var value any
	var err error
	switch {
	case kind == "vars" && name != "":
		var got *StateGet
		if got, err = e.StateGet(ctx, StateGetInput{Workflow: workflow, RunID: run, Var: name, Limit: -1}); err == nil {
			value, err = jsonvalue.Decode(got.Value)
		}
	case kind == "outputs":
		value, err = e.Outputs(ctx, workflow, run)
	case kind == "summary":
		value, err = e.Summary(ctx, workflow, run)
	default:
		err = fault.New(fault.InvalidParams, "ref: %q is no value of a run: copy the $artifact of a reply", fault.Cut(ref, 200))
	}
	if err != nil {
		return nil, err
	}
	return TextOf(value)
}

// TextOf returns what is stored and paged of a value: a text as it is, else its JSON.
func TextOf(value any) ([]byte, error) {
	if text, is := value.(string); is {
		return []byte(text), nil
	}
	return jsonvalue.Encode(value)
}

// maxEscaped is the maximum size of a part in the JSON of a reply.
const maxEscaped = 64_000

// partOf returns a part of a value: INVALID_PARAMS where the offset is beyond
// its end.
func partOf(data []byte, offset, limit int) (*Part, error) {
	if offset > len(data) {
		return nil, fault.New(fault.InvalidParams, "offset: expected at most %d, the size of the value, got %d", len(data), offset)
	}
	for back := 0; offset > 0 && offset < len(data) && !utf8.RuneStart(data[offset]) && back < utf8.UTFMax-1; back++ {
		offset-- // the part begins with the character that the offset is in
	}
	end := offset + min(limit, len(data)-offset)
	for len(jsonvalue.Encoded(string(data[offset:end]))) > maxEscaped {
		end = offset + (end-offset)/2 // what must be escaped is longer in a reply
	}
	for back := 0; end < len(data) && !utf8.RuneStart(data[end]) && back < utf8.UTFMax-1; back++ {
		end-- // no character is taken apart
	}
	part := &Part{Bytes: len(data), Offset: offset, Text: string(data[offset:end])}
	if end < len(data) {
		part.Next = end
	}
	return part, nil
}

// Prefixes of the URIs of runs and artifacts.
const (
	RunPrefix      = "savant://runs/"
	ArtifactPrefix = "savant://artifacts/"
)

func varURI(workflow, run, name string) string {
	return RunPrefix + workflow + "/" + run + "/vars/" + name
}

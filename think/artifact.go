package think

import (
	"context"
	"unicode/utf8"

	"savant/fault"
)

// defaultPart is the default size of a part in bytes; it fits the smallest limit that a
// client has for a reply.
const defaultPart = 3000

// Part is a part of a long value.
type Part struct {
	// Bytes is the size of the whole, Offset where Text begins in it.
	Bytes  int    `json:"bytes"`
	Offset int    `json:"offset"`
	Text   string `json:"text"`
	// Next is the offset of the next part; absent after the last.
	Next int `json:"next,omitempty"`
}

// artifactPart reads a part of an artifact: INVALID_PARAMS for an invalid digest or an
// offset beyond the end, STATE_CORRUPT for a damaged or missing artifact.
func (e *Engine) artifactPart(ctx context.Context, in StateGetInput) (*Part, error) {
	data, err := e.Store.Artifact(ctx, in.Artifact)
	if err != nil {
		return nil, err
	}
	if in.Limit <= 0 {
		in.Limit = defaultPart
	}
	return partOf(data, in.Offset, in.Limit)
}

// partOf returns a part of a value: INVALID_PARAMS where the offset is beyond
// its end.
func partOf(data []byte, offset, limit int) (*Part, error) {
	if offset > len(data) {
		return nil, fault.New(fault.InvalidParams, "offset: expected at most %d, the size of the value, got %d", len(data), offset)
	}
	end := offset + min(limit, len(data)-offset)
	for end < len(data) && end > offset && !utf8.RuneStart(data[end]) {
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

func outputsURI(workflow, run string) string { return RunPrefix + workflow + "/" + run + "/outputs" }

func artifactURI(digest string) string { return ArtifactPrefix + digest }

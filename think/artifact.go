package think

import (
	"context"
	"unicode/utf8"

	"savant/fault"
)

// defaultPart is the size of a part in bytes: small enough for the client that
// shows least of an answer.
const defaultPart = 3000

// ArtifactPart is a part of a value that was kept by its content.
type ArtifactPart struct {
	// Bytes is the size of the whole, Offset where Text begins in it.
	Bytes  int    `json:"bytes"`
	Offset int    `json:"offset"`
	Text   string `json:"text"`
	// Next is the offset of the next part; absent after the last.
	Next int `json:"next,omitempty"`
}

// artifactPart reads a part of an artifact: INVALID_PARAMS where the digest is
// none or the offset is beyond its end, STATE_CORRUPT where it is damaged or
// not there.
func (e *Engine) artifactPart(ctx context.Context, in StateGetInput) (*ArtifactPart, error) {
	data, err := e.Store.Artifact(ctx, in.Artifact)
	if err != nil {
		return nil, err
	}
	if in.Offset > len(data) {
		return nil, fault.New(fault.InvalidParams, "offset: expected at most %d, the size of the artifact, got %d", len(data), in.Offset)
	}
	limit := in.Limit
	if limit == 0 {
		limit = defaultPart
	}
	end := in.Offset + min(limit, len(data)-in.Offset)
	for end < len(data) && end > in.Offset && !utf8.RuneStart(data[end]) {
		end-- // no character is taken apart
	}
	part := &ArtifactPart{Bytes: len(data), Offset: in.Offset, Text: string(data[in.Offset:end])}
	if end < len(data) {
		part.Next = end
	}
	return part, nil
}

package guide

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
)

// maxReply is the maximum size of a reply's JSON in bytes.
const maxReply = 64 << 10

// maxPreview is how much a reply shows of a value that was taken out of it.
const maxPreview = 400

// boundReplies bounds the replies of a tool, and its errors: where one is too large, its
// largest values are kept as artifacts, and their references take their places.
func boundReplies(t engines.Tool, e *think.Engine) engines.Tool {
	call := t.Call
	t.Call = func(ctx context.Context, from engines.Call, args json.RawMessage) (any, error) {
		result, err := call(ctx, from, args)
		fitter := fitter{ctx, e}
		if err != nil {
			return result, fitter.fault(err)
		}
		data, err := jsonvalue.Encode(result)
		if err != nil || len(data) <= maxReply {
			return result, err
		}
		value, err := jsonvalue.Decode(data)
		if err != nil {
			return nil, err
		}
		return fitter.fit(value, maxReply)
	}
	return t
}

// fitter takes values out of one reply.
type fitter struct {
	ctx context.Context
	e   *think.Engine
}

// fault bounds what is attached to an error.
func (f fitter) fault(err error) error {
	coded := fault.From(err)
	data, encodeErr := jsonvalue.Encode(coded)
	if encodeErr != nil || len(data) <= maxReply {
		return err
	}
	attached, decodeErr := jsonvalue.Recode(coded.Extra)
	if decodeErr != nil {
		return err
	}
	attachedData, encodeErr := jsonvalue.Encode(attached)
	if encodeErr != nil {
		return err
	}
	fitted, fitErr := f.fit(attached, max(maxReply-(len(data)-len(attachedData)), maxReply/2))
	if fitErr != nil {
		return fitErr
	}
	short := *coded
	short.Extra, _ = fitted.(map[string]any)
	return &short
}

// fit takes the largest values out of a reply until it has at most limit bytes.
func (f fitter) fit(reply any, limit int) (any, error) {
	for {
		data, err := jsonvalue.Encode(reply)
		if err != nil || len(data) <= limit {
			return reply, err
		}
		if reply, err = f.without(reply, nil); err != nil {
			return nil, err
		}
	}
}

// without returns a value without its largest part: that of its members which is at
// least half of it, however deep, or else the whole. What a client needs to go on is
// never taken out as a whole.
func (f fitter) without(value any, path []any) (any, error) {
	at, largest, size, whole := any(nil), any(nil), 0, 0
	weigh := func(name, member any) {
		data, err := jsonvalue.Encode(member)
		if whole += len(data); err == nil && len(data) > size {
			at, largest, size = name, member, len(data)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			weigh(name, value[name])
		}
	case []any:
		for i, item := range value {
			weigh(i, item)
		}
	}
	if at == nil || size*2 < whole && len(path) >= leastDepth(path) {
		return f.keepArtifact(value)
	}
	smaller, err := f.without(largest, append(path, at))
	if err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case map[string]any:
		made := maps.Clone(value)
		made[at.(string)] = smaller
		return made, nil
	case []any:
		made := slices.Clone(value)
		made[at.(int)] = smaller
		return made, nil
	}
	return nil, fault.New(fault.Internal, "a %T has no members", value)
}

// leastDepth is how deep in a reply a value must be to be taken out: an instruction
// stays one, and so does the state.
func leastDepth(path []any) int {
	if len(path) == 0 {
		return 1
	}
	switch path[0] {
	case "instruction":
		return 2
	case "instructions", "state":
		return 3
	}
	return 1
}

// keepArtifact keeps a value as an artifact and returns its excerpt. A value that is no larger
// than its excerpt cannot be what makes a reply too large.
func (f fitter) keepArtifact(value any) (any, error) {
	data, err := think.TextOf(value)
	if err != nil {
		return nil, err
	}
	ref, err := f.e.Store.PutArtifact(f.ctx, data)
	if err != nil {
		return nil, err
	}
	short := engines.Excerpt{Artifact: ref, Size: len(data), Preview: fault.Cut(string(data[:min(len(data), 4*maxPreview)]), maxPreview)}
	if len(data) <= 2*maxPreview {
		return nil, fault.New(fault.LimitExceeded, "the reply has too many small values for %d bytes: ask for less", maxReply)
	}
	return jsonvalue.Recode(short)
}

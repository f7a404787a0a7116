package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// Result is the result of a call that succeeded.
type Result struct {
	// Value is what the tool returned, or its Excerpt.
	Value any
	// JSON is the encoding of Value by jsonvalue. It must not be modified.
	JSON json.RawMessage
	// Receipt is the id of the call's receipt, or empty.
	Receipt string
	// Warning says which arguments the call was made without; empty: all were passed on.
	Warning string
	// Artifact is the reference of the whole result if Value is an Excerpt, else empty.
	Artifact string
}

// Content is the result of a tool that returns MCP content, such as a mounted server's.
// Inside the program its JSON is Structured, or without it {"content": Blocks}. NewContent
// makes one.
type Content struct {
	// Structured is the structuredContent, a JSON object, or empty.
	Structured json.RawMessage
	// Blocks is a JSON array of MCP content blocks, which can hold images and sound.
	Blocks json.RawMessage
}

// NewContent returns the content of a tool's result. Without structured content, that is
// the object in the text, else {"text": …}; empty where the content is more than text, or
// its text is a list.
func NewContent(structured, blocks json.RawMessage) (Content, error) {
	made := Content{Structured: structured, Blocks: blocks}
	if string(structured) == "null" {
		made.Structured = nil
	}
	if len(made.Structured) > 0 {
		if value, err := jsonvalue.Decode(structured); err != nil || jsonvalue.Kind(value) != "object" {
			return Content{}, errors.New("its structured content is not a JSON object")
		}
		return made, nil
	}
	var content []any
	if len(blocks) > 0 {
		decoded, err := jsonvalue.Decode(blocks)
		if err != nil {
			return Content{}, fmt.Errorf("its content is not JSON: %w", err)
		}
		content, _ = decoded.([]any)
	}
	value := schemas.ContentValue(schemas.ContentText(content))
	if slices.ContainsFunc(content, isNoText) || jsonvalue.Kind(value) != "object" {
		return made, nil
	}
	var err error
	made.Structured, err = jsonvalue.Encode(value)
	return made, err
}

func isNoText(block any) bool {
	object, _ := block.(map[string]any)
	return object["type"] != "text"
}

// MarshalJSON returns the JSON that the program uses. A result that reads it comes to
// the same value as one that reads the CallToolResult.
func (c Content) MarshalJSON() ([]byte, error) {
	if len(c.Structured) > 0 {
		if value, err := jsonvalue.DecodeStored(c.Structured); err == nil && schemas.IsToolResult(value) {
			return json.Marshal(map[string]json.RawMessage{"structuredContent": c.Structured})
		}
		return c.Structured, nil
	}
	blocks := c.Blocks
	if len(blocks) == 0 {
		blocks = json.RawMessage("[]")
	}
	return json.Marshal(map[string]json.RawMessage{"content": blocks})
}

// Excerpt replaces a value that is too large for a reply.
type Excerpt struct {
	// Artifact is the reference of the whole value, which think.artifact reads.
	Artifact string `json:"$artifact"`
	// Size is the length of the whole in bytes.
	Size int `json:"size"`
	// Preview is the beginning of the whole, as text.
	Preview string `json:"preview"`
	// Note says how to read the whole.
	Note string `json:"note,omitempty"`
}

// Linked is implemented by results that name values which a client can read as resources.
type Linked interface {
	// Links gives the address, the name and the bytes of each.
	Links(each func(uri, name string, size int))
}

const (
	defaultResultLimit = 1 << 20
	maxPreview         = 2000
)

// conclude converts what a tool returned to a Result, within the size limit and with a
// receipt, or to a coded error.
func (t *table) conclude(ctx context.Context, call Call, found *registeredTool, args json.RawMessage, got returned) (Result, error) {
	if got.err != nil {
		coded := t.coded(ctx, found.tool.Name, got.err)
		found.port.remember(coded)
		return t.leaveFailure(ctx, call, found, args, coded), coded
	}
	found.port.down.Store(nil)
	result := Result{Value: got.value, JSON: got.encoded}
	if isDriver(found.port.engine.Name) {
		return result, nil
	}
	if len(got.encoded) > t.options.ResultLimit {
		var err error
		if result, err = t.excerpt(ctx, call, found.tool.Name, got.encoded); err != nil {
			return Result{}, err
		}
	}
	if t.options.Receipts != nil {
		receipt := Receipt{Artifact: result.Artifact, Result: got.encoded, Time: time.Now()}
		if of, is := got.value.(Commanded); is {
			receipt.Command, receipt.CommandDigest, receipt.CommandFile = of.Commanded()
		}
		result.Receipt = t.leaveReceipt(ctx, call, found.tool.Name, args, receipt)
	}
	return result, nil
}

// excerpt stores a large result as an artifact and returns its Excerpt.
func (t *table) excerpt(ctx context.Context, call Call, tool string, encoded json.RawMessage) (Result, error) {
	if t.options.Artifacts == nil {
		return Result{}, fault.New(fault.LimitExceeded, "the result of %s has %d bytes, %d are allowed; ask for less", tool, len(encoded), t.options.ResultLimit)
	}
	ref, err := t.options.Artifacts.PutArtifact(ctx, encoded)
	if err != nil {
		return Result{}, t.coded(ctx, tool, err)
	}
	short := Excerpt{Artifact: ref, Size: len(encoded), Preview: fault.Cut(string(encoded[:min(len(encoded), 2*maxPreview)]), maxPreview),
		Note: call.Spelled(fmt.Sprintf("The result was too large. Ask for less, or read it in parts: think.artifact {ref: %q}.", ref))}
	shown, err := jsonvalue.Encode(short)
	if err != nil {
		return Result{}, t.coded(ctx, tool, err)
	}
	return Result{Value: short, JSON: shown, Artifact: ref}, nil
}

package engines

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Result is the result of a call that succeeded.
type Result struct {
	// Value is what the tool returned, or the Excerpt of it.
	Value any
	// JSON is Value as jsonvalue encodes it, once. It must not be changed.
	JSON json.RawMessage
	// Receipt is the id of the receipt that the call left, or empty.
	Receipt string
	// Artifact is the reference of the whole result if Value is an Excerpt, else
	// empty.
	Artifact string
}

// Content is the result of a tool that answers with MCP content, such as one of a
// mounted server. Inside the program its JSON is Structured, or {"content":
// Blocks} without it.
type Content struct {
	// Structured is the structuredContent, a JSON object, or empty.
	Structured json.RawMessage
	// Blocks is the content, a JSON array of MCP content blocks, for models that
	// can see images and hear sound.
	Blocks json.RawMessage
}

// MarshalJSON writes the JSON that the program works with.
func (c Content) MarshalJSON() ([]byte, error) {
	if len(c.Structured) > 0 {
		return c.Structured, nil
	}
	blocks := c.Blocks
	if len(blocks) == 0 {
		blocks = json.RawMessage("[]")
	}
	return json.Marshal(map[string]json.RawMessage{"content": blocks})
}

// Excerpt replaces a result over Options.ResultLimit.
type Excerpt struct {
	Truncated bool `json:"truncated"` // always true
	// Bytes and SHA256 describe the JSON of the whole result.
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Artifact is the reference under which the whole is kept.
	Artifact string `json:"artifact"`
	// Preview is the beginning of that JSON, as text.
	Preview string `json:"preview"`
	// Note says how to get the whole.
	Note string `json:"note"`
}

const (
	defaultResultLimit = 1 << 20
	maxPreview         = 2000
)

// conclude makes the Result of what a tool returned, within the limit and with a
// receipt, or codes its error.
func (t *table) conclude(ctx context.Context, found *row, args json.RawMessage, got returned) (Result, error) {
	if got.err != nil {
		coded := t.coded(ctx, found.tool.Name, got.err)
		found.port.remember(coded)
		return t.leaveFailure(ctx, found, args, coded), coded
	}
	found.port.down.Store(nil)
	result := Result{Value: got.value, JSON: got.encoded}
	if isDriver(found.port.engine.Name) {
		return result, nil
	}
	if len(got.encoded) > t.options.ResultLimit {
		var err error
		if result, err = t.excerpt(ctx, found.tool.Name, got.encoded); err != nil {
			return Result{}, err
		}
	}
	if t.options.Receipts != nil {
		receipt := Receipt{Artifact: result.Artifact, Result: got.encoded, Time: time.Now()}
		if of, is := got.value.(Commanded); is {
			receipt.Command, receipt.CommandDigest, receipt.CommandFile = of.Commanded()
		}
		result.Receipt = t.leaveReceipt(ctx, found.tool.Name, args, receipt)
	}
	return result, nil
}

// excerpt keeps a large result as an artifact and returns its Excerpt.
func (t *table) excerpt(ctx context.Context, tool string, encoded json.RawMessage) (Result, error) {
	if t.options.Artifacts == nil {
		return Result{}, fault.New(fault.LimitExceeded, "the result of %s has %d bytes, %d are allowed; ask for less", tool, len(encoded), t.options.ResultLimit)
	}
	ref, err := t.options.Artifacts(ctx, encoded)
	if err != nil {
		return Result{}, t.coded(ctx, tool, err)
	}
	sum := sha256.Sum256(encoded)
	short := Excerpt{Truncated: true, Bytes: len(encoded), SHA256: hex.EncodeToString(sum[:]), Artifact: ref,
		Preview: fault.Cut(string(encoded[:min(len(encoded), 2*maxPreview)]), maxPreview),
		Note:    CallerFrom(ctx).Spelled(fmt.Sprintf("The result was too large. Ask for less, or read it in parts: think.state.get {artifact: %q}.", ref))}
	shown, err := jsonvalue.Encode(short)
	if err != nil {
		return Result{}, t.coded(ctx, tool, err)
	}
	return Result{Value: short, JSON: shown, Artifact: ref}, nil
}

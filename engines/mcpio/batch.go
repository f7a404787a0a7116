package mcpio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/internal/jsonrpc"
)

// maxBatch is the maximum number of messages in a batch: as many as calls may be
// queued. Without it a line of 64 MiB could hold 33 million messages, whose replies
// exhaust any memory.
const maxBatch = maxCalls

// batch gathers the replies to the messages of one JSON-RPC batch.
type batch struct {
	mu      sync.Mutex
	left    int
	replies []any
	send    deliver
}

// receiveBatch serves an array of messages. Only revision 2025-03-26 has batches; under
// any other the whole array is refused.
func (c *connection) receiveBatch(ctx context.Context, data []byte, from Exchange, to deliver) {
	messages, refused := SplitBatch(data, from.Peer.Protocol, maxBatch)
	if refused != nil {
		c.answerSoon(ctx, to, refused)
		return
	}
	b := &batch{left: len(messages), send: to}
	for _, one := range messages {
		c.receive(ctx, one, from, b.deliver)
	}
}

// SplitBatch returns the messages of a batch under a revision, at most so many, or the reply
// that refuses it. A refused batch is not parsed.
func SplitBatch(data []byte, version string, most int) ([]json.RawMessage, *jsonrpc.Reply) {
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, jsonrpc.Fail(jsonrpc.NoID, jsonrpc.ParseError, "this line is not JSON: "+err.Error(), nil)
	}
	if version != mcp.ProtocolVersion20250326 {
		return nil, refusedBatch(fmt.Sprintf(
			"batches exist in protocol revision %s only, and %q was negotiated; send the messages one by one",
			mcp.ProtocolVersion20250326, version))
	}
	messages := firstElements(whole, most+1)
	switch {
	case len(messages) == 0:
		return nil, refusedBatch("the batch is empty")
	case len(messages) > most:
		return nil, refusedBatch(fmt.Sprintf("a batch holds at most %d messages", most))
	}
	return messages, nil
}

func refusedBatch(why string) *jsonrpc.Reply {
	return jsonrpc.Fail(jsonrpc.NoID, jsonrpc.InvalidRequest, why, nil)
}

// firstElements returns at most so many elements of a valid JSON array.
func firstElements(array json.RawMessage, most int) []json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(array))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	var elements []json.RawMessage
	for len(elements) < most && decoder.More() {
		var element json.RawMessage
		if decoder.Decode(&element) != nil {
			return nil
		}
		elements = append(elements, element)
	}
	return elements
}

// deliver takes one reply; nil for a message without a reply. The last one sends the
// batch; a batch of notifications gets no reply.
func (b *batch) deliver(answer any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer != nil {
		b.replies = append(b.replies, answer)
	}
	b.left--
	if b.left > 0 {
		return nil
	}
	var replies any
	if len(b.replies) > 0 {
		replies = b.replies
	}
	_ = b.send(replies) // a write error has stopped the connection
	return nil
}

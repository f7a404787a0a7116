package mcpio

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// batch gathers the replies to the messages of one JSON-RPC batch.
type batch struct {
	mu      sync.Mutex
	left    int
	replies []*reply
	send    func(any)
}

// receiveBatch serves an array of messages. Only revision 2025-03-26 has them;
// under any other the array is refused as a whole.
func (c *connection) receiveBatch(ctx context.Context, data []byte) {
	var messages []json.RawMessage
	if err := json.Unmarshal(data, &messages); err != nil {
		c.answerSoon(ctx, c.send, errorReply(noID, &mcp.JSONRPCErrorDetails{
			Code: mcp.PARSE_ERROR, Message: "this line is not JSON: " + err.Error()}))
		return
	}
	if version := c.peer.version; version != mcp.ProtocolVersion20250326 {
		c.answerSoon(ctx, c.send, invalidRequest(noID, fmt.Sprintf(
			"batches exist in protocol revision %s only, and %q was negotiated; send the messages one by one",
			mcp.ProtocolVersion20250326, version)))
		return
	}
	if len(messages) == 0 {
		c.answerSoon(ctx, c.send, invalidRequest(noID, "the batch is empty"))
		return
	}
	b := &batch{left: len(messages), send: c.writeLine}
	for _, one := range messages {
		c.receiveMessage(ctx, one, b.deliver)
	}
}

// deliver takes one reply, nil for a message that has none. The last one sends
// the batch; a batch of notifications is not answered.
func (b *batch) deliver(answer *reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer != nil {
		b.replies = append(b.replies, answer)
	}
	b.left--
	if b.left == 0 && len(b.replies) > 0 {
		b.send(b.replies)
	}
}

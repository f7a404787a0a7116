package mcpio

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// questions are the requests this server has sent to its client and that are
// not answered: elicitation, up to revision 2025-11-25.
type questions struct {
	mu      sync.Mutex
	asked   int
	waiting map[string]chan *message
}

// open returns the raw id of a new question and where its answer will come.
func (q *questions) open() (json.RawMessage, <-chan *message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = map[string]chan *message{}
	}
	q.asked++
	id := fmt.Sprintf(`"savant-%d"`, q.asked)
	answer := make(chan *message, 1)
	q.waiting[id] = answer
	return json.RawMessage(id), answer
}

func (q *questions) forget(id json.RawMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, string(id))
}

// settle hands an answer to whoever asked; one nobody waits for is dropped.
func (q *questions) settle(m *message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if answer, waits := q.waiting[string(m.ID)]; waits {
		delete(q.waiting, string(m.ID))
		answer <- m
	}
}

// outgoing is a request this package sends.
type outgoing struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  any             `json:"params,omitempty"`
}

// asker returns the Elicit of a call from a client that is asked by a request
// of the server's own. The call gives its slot away while it waits.
func (c *connection) asker(asked *call) func(context.Context, engines.Elicitation) (engines.Answer, error) {
	return func(ctx context.Context, question engines.Elicitation) (engines.Answer, error) {
		asked.slot.pause()
		defer asked.slot.resume()
		id, answer := c.questions.open()
		defer c.questions.forget(id)
		c.writeLine(outgoing{JSONRPC: mcp.JSONRPC_VERSION, ID: id,
			Method: string(mcp.MethodElicitationCreate), Params: elicitationParams(question)})
		select {
		case m := <-answer:
			return answerOf(m)
		case <-ctx.Done():
			c.writeLine(notification{JSONRPC: mcp.JSONRPC_VERSION,
				Method: string(mcp.MethodNotificationCancelled),
				Params: map[string]any{"requestId": id, "reason": "the call that asked is over"}})
			return engines.Answer{}, errUnasked(ctx)
		case <-c.gone:
			return engines.Answer{}, fault.New(fault.EngineOffline, "the client left before the question was answered")
		}
	}
}

func errUnasked(ctx context.Context) error {
	return fault.New(fault.EngineOffline, "the call ended before the question was answered: %w", context.Cause(ctx))
}

// elicitationParams is a question as the protocol has it: a form with an
// object schema, an empty one when there is nothing to fill in.
func elicitationParams(question engines.Elicitation) mcp.ElicitationParams {
	schema := question.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return mcp.ElicitationParams{Message: question.Message, RequestedSchema: schema}
}

// answerOf reads a client's response: what the person did, or TOOL_FAILED when
// the client could not ask.
func answerOf(m *message) (engines.Answer, error) {
	if m.Error != nil {
		var failure mcp.JSONRPCErrorDetails
		if json.Unmarshal(m.Error, &failure) != nil {
			failure.Message = "it did not say why"
		}
		return engines.Answer{}, fault.New(fault.ToolFailed, "the client could not ask: %s", failure.Message)
	}
	return readAnswer(m.Result)
}

// readAnswer takes names as they are spelt, each but once: a person's answer is
// not to be read in two ways.
func readAnswer(raw json.RawMessage) (engines.Answer, error) {
	var action, content json.RawMessage
	if err := read(raw, "", []field{{"action", &action}, {"content", &content}}); err != nil || kindOf(raw) != "object" {
		return engines.Answer{}, fault.New(fault.ToolFailed, "the client's answer is not an elicitation result")
	}
	if !utf8.Valid(raw) { // as of arguments: others could not read what is kept of it
		return engines.Answer{}, fault.New(fault.ToolFailed, "the client's answer is not JSON: text is not UTF-8")
	}
	switch given := jsonvalue.Text(action); given {
	case "accept", "decline", "cancel":
		return engines.Answer{Action: given, Content: content}, nil
	default:
		return engines.Answer{}, fault.New(fault.ToolFailed,
			"the client's answer has the action %q; it is accept, decline or cancel", given)
	}
}

package mcpio

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
)

// Questions remember what the users of clients were asked, so that another server takes
// the answer to a question. Only what was asked can be answered, and once. They are where
// no folder that is served can bring them.
type Questions interface {
	// Asked notes that a question was asked. A digest names it.
	Asked(ctx context.Context, question string) error
	// Take reports whether a question was asked within a time and not taken since, and
	// takes it.
	Take(ctx context.Context, question string, within time.Duration) (bool, error)
}

// maxAsking is how long a question stays open in a client that never answers. The call
// then ends as one that was not answered, and the step still waits.
const maxAsking = 10 * time.Minute

// seen is the shortest time in which a person can read a question and dismiss it. What
// is declined sooner, the client declined by itself.
const seen = 300 * time.Millisecond

// askOne puts a question to the user in one way.
type askOne func(context.Context, mcp.ElicitationParams) (engines.Answer, error)

// askEachWay puts a question to the user in each way of the client until somebody saw it.
// Who opens the page answers there: the call then waits for ctx, which ends with the answer,
// or until the client is gone.
func (p *Peer) askEachWay(ctx context.Context, question engines.Elicitation, gone <-chan struct{}, ask askOne) (answer engines.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxAsking)
	defer cancel()
	err = fault.New(fault.ToolFailed, "the client can neither show a form nor open a page for this question")
	for _, way := range p.waysToAsk(question) {
		answer, err = ask(ctx, way)
		if err != nil && ctx.Err() != nil {
			return answer, err
		}
		if way.Mode == mcp.ElicitationModeURL && err == nil {
			if answer.Action == "accept" {
				select {
				case <-ctx.Done():
					return engines.Answer{}, noAnswer(ctx)
				case <-gone:
					return engines.Answer{}, errClientLeft()
				}
			}
			answer.Action = "cancel" // not to open a page is no answer to the question
		}
		if err == nil && !answer.Unseen {
			break
		}
	}
	return answer, err
}

// waysToAsk returns a question as a form, and as a page to open, where the client has both.
func (p *Peer) waysToAsk(question engines.Elicitation) (ways []mcp.ElicitationParams) {
	if p.Forms {
		ways = append(ways, elicitationParams(question))
	}
	if p.Pages && question.URL != "" {
		ways = append(ways, mcp.ElicitationParams{Mode: mcp.ElicitationModeURL, ElicitationID: rand.Text(), URL: question.URL,
			Message: visible.Characters(question.Message)})
	}
	return ways
}

// ask puts a question to the user. Meanwhile later calls about the same run go on: nobody
// knows how long a person takes.
func (c *call) Ask(ctx context.Context, question engines.Elicitation) (engines.Answer, error) {
	c.turn.pass()
	return c.Peer.askEachWay(ctx, question, c.Gone, c.request.ask)
}

// ask puts a question to the user by a request to the client, as in revisions up to
// 2025-11-25.
func (r *request) ask(ctx context.Context, question mcp.ElicitationParams) (engines.Answer, error) {
	questions := &r.connection.questions
	id, answer := questions.Open(r.Scope)
	defer questions.Forget(id)
	asked := time.Now()
	_ = r.Send(jsonrpc.Request{JSONRPC: jsonrpc.Version, ID: id, Method: string(mcp.MethodElicitationCreate), Params: question})
	select {
	case m := <-answer:
		return answerOf(m, asked)
	case <-ctx.Done():
		_ = r.Send(jsonrpc.Notify(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id, "reason": "the call that asked has ended"}))
		return engines.Answer{}, noAnswer(ctx)
	case <-r.Gone:
		select {
		case m := <-answer: // it was read before the client left
			return answerOf(m, asked)
		default:
			return engines.Answer{}, errClientLeft()
		}
	}
}

func errClientLeft() error {
	return fault.New(fault.EngineOffline, "the client left before the question was answered")
}

func noAnswer(ctx context.Context) error {
	return fault.New(fault.EngineOffline, "the call ended before the question was answered: %w", context.Cause(ctx))
}

// elicitationParams returns a question in the protocol's form, with an object schema,
// which is empty if there is nothing to fill in. Invisible characters are made visible
// to the person.
func elicitationParams(question engines.Elicitation) mcp.ElicitationParams {
	schema := question.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	shown, _ := visibleSchema(schema)
	return mcp.ElicitationParams{Message: visible.Characters(question.Message), RequestedSchema: shown}
}

// answerOf reads a client's response: what the person did, or TOOL_FAILED if the client
// could not ask.
func answerOf(m *jsonrpc.Message, asked time.Time) (engines.Answer, error) {
	if m.Error != nil {
		var failure jsonrpc.Error
		if json.Unmarshal(m.Error, &failure) != nil {
			failure.Message = "it gave no reason"
		}
		return engines.Answer{}, fault.New(fault.ToolFailed, "the client could not ask: %s", failure.Message)
	}
	return readAnswer(m.Result, asked)
}

// readAnswer reads what the person did. Names are case-sensitive and must not occur
// twice, so that an answer cannot be read in two ways. asked is when the question was sent.
func readAnswer(raw json.RawMessage, asked time.Time) (engines.Answer, error) {
	var action, content json.RawMessage
	err := jsonrpc.ReadObject(raw, "", map[string]any{"action": &action, "content": &content})
	if err != nil || jsonrpc.Kind(raw) != "object" {
		return engines.Answer{}, fault.New(fault.ToolFailed, "the client's answer is not an elicitation result")
	}
	if !utf8.Valid(raw) { // as for arguments: stored records must be readable
		return engines.Answer{}, fault.New(fault.ToolFailed, "the client's answer is not JSON: text is not UTF-8")
	}
	switch given := jsonvalue.Text(action); given {
	case "accept", "decline", "cancel":
		return engines.Answer{Action: given, Content: content, Unseen: given != "accept" && time.Since(asked) < seen}, nil
	default:
		return engines.Answer{}, fault.New(fault.ToolFailed,
			"the client's answer has the action %q; it is accept, decline or cancel", given)
	}
}

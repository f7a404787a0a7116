package agent

import (
	"context"
	"encoding/json"
	"sync"

	"savant/engines"
	"savant/fault"
	"savant/internal/visible"
)

// maxQuestion bounds the description of a call in a form, in bytes. A longer call
// cannot be approved there, because the person would not see all of it.
const maxQuestion = 8000

// approveCall is the form of a question about a call.
const approveCall = `{"type":"object","properties":{"approved":{"type":"boolean","title":"Call it"}},"required":["approved"]}`

// asking asks the person at the client to approve destructive calls of a run. It can
// ask only while a call of that client waits for the run.
type asking struct {
	mu  sync.Mutex // held during a question: one after the other
	ask func(context.Context, engines.Elicitation) (engines.Answer, error)
	ctx context.Context // of the call that waits
}

// newAsking returns the asking of a run, attached to the call that starts it; nil if
// the client does not support questions.
func newAsking(ctx context.Context) *asking {
	ask := engines.CallerFrom(ctx).Elicit
	if ask == nil {
		return nil
	}
	return &asking{ask: ask, ctx: ctx}
}

// attach sends the questions through a waiting call until leave is called. leave waits
// for the answer to an open question.
func (a *asking) attach(ctx context.Context) (leave func()) {
	ask := engines.CallerFrom(ctx).Elicit
	if a == nil || ask == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ask, a.ctx = ask, ctx
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.ctx == ctx { // no later call took over
			a.ask, a.ctx = nil, nil
		}
	}
}

// confirm is Policy.Confirm. If nobody can be asked, the call is denied.
func (a *asking) confirm(ctx context.Context, tool string, args json.RawMessage) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ask == nil {
		return false, denied(tool, RuleDestructive).Hinted(fault.Hint{Text: "no call waits for the run, so Savant cannot ask a person; it can during agent.status with wait_ms"})
	}
	question := "The agent wants to call " + visible.Line(tool) + " with " + visible.Line(string(args)) + ". Allow this call?"
	if len(question) > maxQuestion {
		return false, denied(tool, RuleDestructive).Hinted(fault.Hint{Text: "its arguments are too long for a form; run the agent at a terminal: savant run"})
	}
	ctx, stop := context.WithCancel(ctx) // the run may end before the person answers, and so may the call
	defer stop()
	defer context.AfterFunc(a.ctx, stop)()
	answer, err := a.ask(ctx, engines.Elicitation{Message: question, Schema: json.RawMessage(approveCall)})
	if err != nil || answer.Action == "cancel" {
		return false, denied(tool, RuleDestructive).Hinted(fault.Hint{Text: "the form was not answered"})
	}
	var content struct {
		Approved bool `json:"approved"`
	}
	agreed := answer.Action == "accept" && json.Unmarshal(answer.Content, &content) == nil && content.Approved
	return agreed, nil
}

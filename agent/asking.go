package agent

import (
	"context"
	"encoding/json"
	"sync"

	"savant/engines"
	"savant/fault"
	"savant/internal/visible"
)

// maxQuestion is how much a form of a client shows of a call, in bytes. A person
// agrees only to what they saw whole.
const maxQuestion = 8000

// approveCall is the form of a question about a call.
const approveCall = `{"type":"object","properties":{"approved":{"type":"boolean","title":"Call it"}},"required":["approved"]}`

// asking puts questions about destructive calls to the person behind the client of
// a run, while one of the client's calls waits for the run.
type asking struct {
	mu  sync.Mutex // held during a question: one after the other
	ask func(context.Context, engines.Elicitation) (engines.Answer, error)
	ctx context.Context // of the call that waits
}

// newAsking returns the asking of a run that a call starts, and lets the call carry
// it; nil where its client cannot put a question to a person.
func newAsking(ctx context.Context) *asking {
	ask := engines.CallerFrom(ctx).Elicit
	if ask == nil {
		return nil
	}
	return &asking{ask: ask, ctx: ctx}
}

// attach lets a call carry the questions until leave is called. leave waits for the
// answer to a question that is open.
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

// confirm is Policy.Confirm. Who cannot be asked has not agreed.
func (a *asking) confirm(ctx context.Context, tool string, args json.RawMessage) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ask == nil {
		return false, denied(tool, RuleDestructive).Hinted(fault.Hint{Text: "no call waits for the run, so nobody can be asked; agent.status with wait_ms lets a person be asked"})
	}
	question := "The agent wants to call " + visible.Line(tool) + " with " + visible.Line(string(args)) + ". Allow this call?"
	if len(question) > maxQuestion {
		return false, denied(tool, RuleDestructive).Hinted(fault.Hint{Text: "its arguments are too long to be shown whole in a form; run the agent at a terminal: savant run"})
	}
	ctx, stop := context.WithCancel(ctx) // the run may end before the person answers, and so may the call
	defer stop()
	defer context.AfterFunc(a.ctx, stop)()
	answer, err := a.ask(ctx, engines.Elicitation{Message: question, Schema: json.RawMessage(approveCall)})
	var content struct {
		Approved bool `json:"approved"`
	}
	agreed := err == nil && answer.Action == "accept" && json.Unmarshal(answer.Content, &content) == nil && content.Approved
	return agreed, nil
}

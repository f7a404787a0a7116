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

// asking asks the person at the client to approve destructive calls of a run. It can
// ask only while a call of that client waits for the run.
type asking struct {
	turn sync.Mutex // held during a question: one after the other

	mu sync.Mutex
	// person is the one at the call that waits, with the context of that call.
	person engines.Person
	ctx    context.Context
	open   *openQuestion // nil if the person is not asked now
}

// openQuestion is one that a person is asked now, through the call of ctx.
type openQuestion struct {
	ctx  context.Context
	done chan struct{} // closed when it is over
}

// newAsking returns the asking of a run, attached to the call that starts it; nil if
// the client does not support questions.
func newAsking(ctx context.Context, call engines.Call) *asking {
	if call.Person == nil {
		return nil
	}
	return &asking{person: call.Person, ctx: ctx}
}

// attach sends the next questions through a waiting call until leave is called. leave waits
// for the answer to a question that was sent through this call.
func (a *asking) attach(ctx context.Context, call engines.Call) (leave func()) {
	if a == nil || call.Person == nil {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.person, a.ctx = call.Person, ctx
	return func() {
		a.mu.Lock()
		open := a.open
		if a.ctx == ctx { // no later call took over
			a.person, a.ctx = nil, nil
		}
		a.mu.Unlock()
		if open != nil && open.ctx == ctx {
			<-open.done
		}
	}
}

// begin opens a question, if a call waits through which it can be asked.
func (a *asking) begin() (person engines.Person, opened *openQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.person == nil {
		return nil, nil
	}
	a.open = &openQuestion{ctx: a.ctx, done: make(chan struct{})}
	return a.person, a.open
}

func (a *asking) end(opened *openQuestion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = nil
	close(opened.done)
}

// Approve implements Approver. If nobody can be asked, the call is denied.
func (a *asking) Approve(ctx context.Context, tool string, args json.RawMessage) (bool, error) {
	text := "The agent wants to call " + visible.Line(tool) + " with " + visible.Line(string(args)) + ". Allow this call?"
	if len(text) > maxQuestion {
		return false, deniedError(tool, RuleDestructive).Hinted(fault.Hint{Text: "its arguments are too long for a form; run the agent at a terminal: savant run"})
	}
	a.turn.Lock()
	defer a.turn.Unlock()
	person, opened := a.begin()
	if person == nil {
		return false, deniedError(tool, RuleDestructive).Hinted(fault.Hint{Text: "no call waits for the run, so Savant cannot ask a person; it can during agent.status with wait_ms"})
	}
	defer a.end(opened)
	ctx, stop := context.WithCancel(ctx) // the run may end before the person answers, and so may the call
	defer stop()
	defer context.AfterFunc(opened.ctx, stop)()
	agreed, answered := engines.AskToCall(ctx, person, text)
	if !answered {
		return false, deniedError(tool, RuleDestructive).Hinted(fault.Hint{Text: "the form was not answered"})
	}
	return agreed, nil
}

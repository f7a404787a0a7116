package mcpio

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
)

// From revision 2026-07-28 a server cannot send requests. A call that has a
// question is answered with it (input_required), and the client sends the call
// again with the answer. Between the two the running call is parked under the
// token the client sends back, so a tool asks in the same way in every
// revision and never runs twice.

const (
	// parkLimit is how long a parked call waits for its client to come back.
	parkLimit = 15 * time.Minute
	// questionID names the one question of an input_required result.
	questionID = "question"
)

// execution is a call that may outlive the request that began it.
type execution struct {
	tool, key string
	// asks takes the next question while a request waits for the outcome.
	asks   chan question
	done   chan outcome
	cancel context.CancelFunc
	// pacer is that of the request now waiting; nil without a token.
	pacer atomic.Pointer[pacer]
	// pending is the question a parked call waits for the answer of.
	pending question
	timer   *time.Timer
}

// question waits for its answer, which is raw: it is read by the one asking.
type question struct {
	engines.Elicitation
	answer chan []byte
}

// begin starts a call that can ask and waits for its outcome or its question.
func (c *connection) begin(ctx context.Context, asked *call) outcome {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &execution{tool: asked.tool, key: asked.key, cancel: cancel,
		asks: make(chan question), done: make(chan outcome, 1)}
	e.pacer.Store(asked.pacer)
	caller := engines.Caller{Elicit: e.ask}
	if asked.pacer != nil {
		caller.Progress = func(done, total float64, message string) {
			if current := e.pacer.Load(); current != nil {
				current.report(done, total, message)
			}
		}
	}
	go func() {
		defer cancel()
		e.done <- c.perform(running, asked, caller)
	}()
	return c.await(ctx, e)
}

// resume gives a parked call its answer and waits for what comes next. A
// client that comes back without one has cancelled the question.
func (c *connection) resume(ctx context.Context, e *execution, asked *call) outcome {
	e.pacer.Store(asked.pacer)
	answer, given := asked.answers[questionID]
	if !given {
		answer = []byte(`{"action":"cancel"}`)
	}
	e.pending.answer <- answer
	return c.await(ctx, e)
}

// await waits until a call is over or has a question; a cancelled one is over
// when its tool returns.
func (c *connection) await(ctx context.Context, e *execution) outcome {
	select {
	case done := <-e.done:
		return done
	case asked := <-e.asks:
		return outcome{result: &mcp.CallToolResult{
			Result: mcp.Result{ResultType: mcp.ResultTypeInputRequired},
			MultiRoundTripResult: mcp.MultiRoundTripResult{
				RequestState: c.parked.park(e, asked),
				InputRequests: mcp.InputRequests{
					questionID: mcp.NewElicitationInputRequest(elicitationParams(asked.Elicitation))},
			},
		}}
	case <-ctx.Done():
		e.cancel()
		return <-e.done
	}
}

// ask is the Elicit of a call that can be parked.
func (e *execution) ask(ctx context.Context, asked engines.Elicitation) (engines.Answer, error) {
	waiting := question{Elicitation: asked, answer: make(chan []byte, 1)}
	select {
	case e.asks <- waiting:
	case <-ctx.Done():
		return engines.Answer{}, errUnasked(ctx)
	}
	select {
	case raw := <-waiting.answer:
		return readAnswer(raw)
	case <-ctx.Done():
		return engines.Answer{}, errUnasked(ctx)
	}
}

// parkingLot holds the calls that wait for their client to come back.
type parkingLot struct {
	mu     sync.Mutex
	parked map[string]*execution
	closed bool
}

// park keeps a call under a new token. Nobody comes back once the client has
// left: then the call is cancelled.
func (p *parkingLot) park(e *execution, asked question) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := rand.Text()
	e.pending = asked
	e.pacer.Store(nil)
	if p.closed {
		e.cancel()
		return token
	}
	if p.parked == nil {
		p.parked = map[string]*execution{}
	}
	p.parked[token] = e
	e.timer = time.AfterFunc(parkLimit, func() { p.expire(token) })
	return token
}

// take returns the call parked under a token, or nil: then the call begins
// anew, and asks again.
func (p *parkingLot) take(token, tool string) *execution {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.parked[token]
	if e == nil || e.tool != tool {
		return nil
	}
	delete(p.parked, token)
	e.timer.Stop()
	return e
}

func (p *parkingLot) expire(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.parked[token]; e != nil {
		delete(p.parked, token)
		e.cancel()
	}
}

// giveWay ends the parked calls of a key and waits until they are over: a new
// call of the same key means that their client has moved on, and calls of one
// key never overlap.
func (p *parkingLot) giveWay(key string) {
	if key == "" {
		return
	}
	for _, e := range p.removeIf(func(e *execution) bool { return e.key == key }) {
		<-e.done
	}
}

// end cancels every parked call.
func (p *parkingLot) end() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.removeIf(func(*execution) bool { return true })
}

func (p *parkingLot) removeIf(matches func(*execution) bool) []*execution {
	p.mu.Lock()
	defer p.mu.Unlock()
	var removed []*execution
	for token, e := range p.parked {
		if matches(e) {
			delete(p.parked, token)
			e.timer.Stop()
			e.cancel()
			removed = append(removed, e)
		}
	}
	return removed
}

package mcpio

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// From revision 2026-07-28 on, a server cannot send requests. A call with a question
// gets the question as its reply (input_required), and the client repeats the call with
// the answer. Meanwhile the running call is suspended under a token that the client
// sends back. So a tool asks in the same way under every revision and never runs twice.
// A server that does not hold the suspended call, because another server asked,
// restarts the call if it is idempotent, and passes it the answer if it asks the same
// question. The token only names the question: what counts is that Questions or this
// server's memory know that it was asked, of this call, and not answered.

const (
	// suspendedLimit is how long a suspended call waits for its client.
	suspendedLimit = 15 * time.Minute
	// questionID names the single question of an input_required result.
	questionID = "question"
)

// execution is a call that can outlive the request that started it.
type execution struct {
	tool, key string
	args      json.RawMessage
	// caller is whose call it is: nobody else goes on with it.
	caller string
	// client is what the client can, as the first request says.
	client Peer
	// gone is closed when nothing more is read from its connection.
	gone <-chan struct{}
	// questions knows what other servers asked; nil: there are none.
	questions Questions
	// asks carries the next question while a request waits for the outcome.
	asks   chan question
	done   chan outcome
	cancel context.CancelCauseFunc
	// pacer is the pacer of the waiting request; nil without a progress token.
	pacer atomic.Pointer[pacer]
	// later names the run of a call that can become a task, else it is nil; task is what the
	// call became.
	later *engines.Task
	task  atomic.Pointer[task]
	// asking counts the questions that wait for a person.
	asking atomic.Int32
	// brought is an answer that came with the call; nil once used, or if there was
	// none.
	brought *retriedAnswer
	// pending is the open question of a suspended call.
	pending question
	timer   *time.Timer
}

// retriedAnswer is the answer to a question that another server asked.
type retriedAnswer struct {
	token string // of the question
	raw   []byte
}

// question waits for its answer, which the asking tool decodes.
type question struct {
	mcp.ElicitationParams
	// ctx ends when the question needs no answer any more.
	ctx    context.Context
	run    string
	answer chan []byte
	// shown is when the client of a task first got the question.
	shown *time.Time
	// noted: Questions knows that it was asked. Else the memory of this server counts.
	noted bool
}

// begin starts a call that can ask and waits for its outcome or its question.
func (c *connection) begin(ctx context.Context, asked *call) outcome {
	running, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	e := &execution{tool: asked.target.Name(), key: asked.key, args: asked.args, caller: asked.Caller.ID, client: asked.Peer, gone: c.gone, questions: c.server.options.Questions, cancel: cancel,
		asks: make(chan question), done: make(chan outcome, 1), brought: asked.retriedAnswer()}
	e.pacer.Store(asked.pacer)
	caller := engines.Caller{}
	if e.brought != nil {
		_, caller.Resumes = tokenParts(e.brought.token)
	}
	if asked.canAsk() {
		caller.Person = e
	}
	if asked.canPoll() {
		e.later = &engines.Task{}
		caller.Task = e.later
	}
	if asked.pacer != nil || asked.canPoll() {
		caller.Progress = func(done, total float64, message string) {
			if current := e.pacer.Load(); current != nil {
				current.report(done, total, message)
			}
			if known := e.task.Load(); known != nil && message != "" {
				known.set(func() { known.message = fault.Cut(message, maxEcho) })
			}
		}
	}
	go func() {
		defer cancel(nil)
		e.done <- c.perform(running, asked, caller)
	}()
	return c.await(ctx, e, asked)
}

// resume passes a suspended call its answer and waits for its next question or its end.
// A client that repeats the call without an answer has cancelled the question.
func (c *connection) resume(ctx context.Context, e *execution, asked *call) outcome {
	e.pacer.Store(asked.pacer)
	answer, given := asked.params.InputResponses[questionID]
	if !given {
		answer = []byte(`{"action":"cancel"}`)
	}
	e.pending.answer <- answer
	return c.await(ctx, e, asked)
}

// await waits until a call has ended, has a question, or becomes a task. A cancelled call
// ends when its tool returns.
func (c *connection) await(ctx context.Context, e *execution, asking *call) outcome {
	var grace <-chan time.Time
	if asking.canPoll() {
		grace = time.After(taskGrace)
	}
	for {
		select {
		case <-grace:
			if begun := c.tasks.begin(asking.Caller.ID, e); begun != nil {
				return outcome{task: begun}
			}
			grace = nil // it is answered when it ends or asks
		case done := <-e.done:
			return done
		case asked := <-e.asks:
			return c.suspend(ctx, e, asked)
		case <-ctx.Done():
			e.cancel(context.Cause(ctx))
			return <-e.done
		}
	}
}

// suspend answers a call with its question.
func (c *connection) suspend(ctx context.Context, e *execution, asked question) outcome {
	token := newToken(asked.run)
	if e.questions != nil {
		err := e.questions.Asked(ctx, e.digest(token, asked.ElicitationParams))
		if asked.noted = err == nil; err != nil {
			c.server.logger.Warn("a question was not noted, so its answer counts at this server alone", "tool", e.tool, "error", fault.From(err).Message())
		}
	}
	c.suspended.add(token, e, asked)
	result := &callResult{RequestState: token,
		InputRequests: mcp.InputRequests{questionID: mcp.NewElicitationInputRequest(asked.ElicitationParams)}}
	result.ResultType = mcp.ResultTypeInputRequired
	return outcome{result: result}
}

// Ask is engines.Person for a call that can be suspended.
func (e *execution) Ask(ctx context.Context, elicitation engines.Elicitation) (engines.Answer, error) {
	e.asking.Add(1)
	defer func() { e.brought = nil; e.asking.Add(-1) }()
	return e.client.askEachWay(ctx, elicitation, e.gone, func(ctx context.Context, way mcp.ElicitationParams) (engines.Answer, error) {
		return e.ask(ctx, question{ElicitationParams: way, ctx: ctx, run: elicitation.Run, answer: make(chan []byte, 1), shown: new(time.Time)})
	})
}

// ask suspends the call with a question, or takes the answer that came with the call.
func (e *execution) ask(ctx context.Context, waiting question) (engines.Answer, error) {
	if answer := e.brought; answer != nil && e.take(ctx, answer.token, waiting.ElicitationParams) {
		e.brought = nil
		asked, _ := tokenParts(answer.token)
		return readAnswer(answer.raw, asked)
	}
	select {
	case e.asks <- waiting:
	case <-ctx.Done():
		return engines.Answer{}, noAnswer(ctx)
	}
	sent := time.Now()
	select {
	case raw := <-waiting.answer:
		if e.task.Load() != nil {
			sent = *waiting.shown
		}
		return readAnswer(raw, sent)
	case <-ctx.Done():
		if t := e.task.Load(); t != nil {
			t.set(t.settle)
		}
		return engines.Answer{}, noAnswer(ctx)
	}
}

// newToken returns a token that says when its question was asked, and about which run. A
// client cannot change it: the digest of the question has it.
func newToken(run string) string {
	return rand.Text() + "." + strconv.FormatInt(time.Now().UnixMilli(), 10) + "." + run
}

// tokenParts reads a token, which may be made up.
func tokenParts(token string) (asked time.Time, run string) {
	_, rest, _ := strings.Cut(token, ".")
	when, run, _ := strings.Cut(rest, ".")
	milliseconds, _ := strconv.ParseInt(when, 10, 64)
	return time.UnixMilli(milliseconds), run
}

// digest names a question: the token that it was asked under, the call that asked and
// whose it is, and all that was shown.
func (e *execution) digest(token string, asked mcp.ElicitationParams) string {
	schema, _ := json.Marshal(asked.RequestedSchema) // it was JSON
	sum := sha256.New()
	for _, part := range []string{token, e.caller, e.tool, e.key, argsDigest(e.args), asked.Mode, asked.URL, asked.Message, string(schema)} {
		fmt.Fprintf(sum, "%d %s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// argsDigest is equal for equal arguments, however they are written.
func argsDigest(args json.RawMessage) string {
	if value, err := jsonvalue.Decode(args); err == nil {
		if digest, err := jsonvalue.Digest(value); err == nil {
			return digest
		}
	}
	return jsonvalue.HexSum(args)
}

// take reports whether another server, or this one before, asked a question under a token
// and has no answer to it yet. It counts once.
func (e *execution) take(ctx context.Context, token string, asked mcp.ElicitationParams) bool {
	if e.questions == nil {
		return false
	}
	taken, err := e.questions.Take(ctx, e.digest(token, asked), suspendedLimit)
	return taken && err == nil
}

// retriedAnswer returns the answer that came with a call which is not suspended on this
// server, if the call is idempotent.
func (asked *call) retriedAnswer() *retriedAnswer {
	token := asked.params.RequestState
	answer, given := asked.params.InputResponses[questionID]
	if token == "" || !given || !asked.target.Idempotent() {
		return nil
	}
	return &retriedAnswer{token, answer}
}

// suspendedCall returns the suspended call that a repeated one goes on with, or nil: then
// it starts anew. An answer that another server took meanwhile counts no more.
func (c *connection) suspendedCall(ctx context.Context, asked *call) *execution {
	token := asked.params.RequestState
	e := c.suspended.take(token, asked)
	if e == nil || !e.pending.noted || e.take(ctx, token, e.pending.ElicitationParams) {
		return e
	}
	e.cancel(nil)
	<-e.done
	return nil
}

// suspendedCalls are the calls that wait for their client.
type suspendedCalls struct {
	mu      sync.Mutex
	byToken map[string]*execution
	closed  bool
}

// add stores a call under a new token. If the client has left, it cancels the call
// instead.
func (s *suspendedCalls) add(token string, e *execution, asked question) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.pending = asked
	e.pacer.Store(nil)
	if s.closed {
		e.cancel(nil)
		return
	}
	if s.byToken == nil {
		s.byToken = map[string]*execution{}
	}
	s.byToken[token] = e
	e.timer = time.AfterFunc(suspendedLimit, func() {
		for _, expired := range s.remove(func(each string, _ *execution) bool { return each == token }) {
			expired.cancel(nil)
		}
	})
}

// take returns the call that is suspended under a token and has the same caller, tool and
// arguments. Without a token it returns nil: the call starts anew, and the suspended calls
// of the same key are cancelled and have ended when take returns, so that calls of one key
// never overlap.
func (s *suspendedCalls) take(token string, asked *call) *execution {
	resumed := s.remove(func(each string, e *execution) bool {
		return each == token && e.caller == asked.Caller.ID && e.tool == asked.target.Name() && argsDigest(e.args) == argsDigest(asked.args)
	})
	if len(resumed) == 1 {
		return resumed[0]
	}
	for _, e := range s.remove(func(_ string, e *execution) bool { return asked.key != "" && e.key == asked.key }) {
		e.cancel(nil)
		<-e.done
	}
	return nil
}

// end cancels every suspended call and all later ones.
func (s *suspendedCalls) end() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, e := range s.remove(func(string, *execution) bool { return true }) {
		e.cancel(nil)
	}
}

// remove removes and returns the calls that match.
func (s *suspendedCalls) remove(matches func(token string, e *execution) bool) []*execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	var executions []*execution
	for token, e := range s.byToken {
		if matches(token, e) {
			delete(s.byToken, token)
			e.timer.Stop()
			executions = append(executions, e)
		}
	}
	return executions
}

package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"savant/engines"
	"savant/fault"
)

// notBegun is the JSON-RPC code of a request that was not begun because the
// server stops or has too much to do; JSON-RPC leaves -32000 to servers.
const notBegun = -32000

// call is what a tools/call asks for, and how it went.
type call struct {
	// tool is the canonical name, or the name as sent when no tool has it.
	tool string
	args json.RawMessage
	// key is the order key; empty calls have no order.
	key   string
	turn  turn
	slot  hold
	pacer *pacer
	// state and answers are what a retry brings: the token of a parked call,
	// and what the person answered to its question.
	state   string
	answers map[string]json.RawMessage
	// started is when the call got its turn and its slot.
	started time.Time
	code    fault.Code
}

// startCall takes a call's place in the order, then lets it run. It is called
// on the reading goroutine.
func (c *connection) startCall(ctx context.Context, r *request, to deliver) {
	name, isText := text(r.message.Params.Name)
	if !isText {
		c.answerSoon(ctx, to, errorReply(r.message.ID, &mcp.JSONRPCErrorDetails{
			Code: mcp.INVALID_PARAMS, Message: "params.name is not a string"}))
		return
	}
	size := len(r.message.raw)
	if !c.load.admit(size) {
		c.answerSoon(ctx, to, refusal(r, fault.New(fault.LimitExceeded,
			"too many calls are waiting; send fewer at once")))
		return
	}
	r.call = c.newCall(name, r.message.Params)
	callCtx, end := c.inflight.begin(ctx, r.message.ID)
	c.work.Go(func() {
		defer c.load.release(size)
		defer end()
		c.runCall(ctx, callCtx, r, to)
	})
}

func (c *connection) newCall(name string, given params) *call {
	asked := &call{tool: name, args: given.Arguments, slot: hold{slots: c.slots},
		state: given.RequestState, answers: given.InputResponses}
	if tool, known := c.server.options.Registry.Resolve(name); known {
		asked.tool = tool.Name
	}
	if asked.args == nil || string(asked.args) == "null" {
		asked.args = json.RawMessage("{}")
	}
	if token := progressToken(given.Meta); token != nil {
		asked.pacer = &pacer{token: token, write: c.writeLine}
	}
	asked.key = c.server.options.Order(asked.tool, asked.args)
	asked.turn = c.turns.join(asked.key)
	return asked
}

// runCall runs a call when its turn and a slot have come, and delivers the
// reply before the next call of the same key begins.
func (c *connection) runCall(life, ctx context.Context, r *request, to deliver) {
	asked := r.call
	defer asked.turn.leave()
	asked.turn.wait()
	if err := asked.slot.take(life, ctx); err != nil {
		c.deliverUnlessCancelled(ctx, to, refusal(r, fault.New(fault.EngineOffline, "the server is stopping")))
		return
	}
	defer asked.slot.release()
	asked.started = time.Now()
	traced, end := c.traced(ctx, r)
	answer := c.handle(traced, r)
	called := time.Now()
	end()
	asked.pacer.finish(ctx)
	c.deliverUnlessCancelled(ctx, to, answer)
	c.server.logCall(ctx, r, called)
}

// refusal answers a call that is not begun.
func refusal(r *request, coded *fault.Error) *reply {
	return errorReply(r.message.ID, &mcp.JSONRPCErrorDetails{
		Code: notBegun, Message: coded.Error(), Data: coded})
}

// callTool is the one tool mcp-go knows.
func callTool(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	r := requestFrom(ctx)
	c, asked := r.connection, r.call
	resumed := c.parked.take(asked.state, asked.tool)
	if resumed == nil {
		c.parked.giveWay(asked.key)
	}
	var done outcome
	switch {
	case resumed != nil:
		done = c.resume(ctx, resumed, asked)
	case !r.session.canElicit():
		done = c.perform(ctx, asked, engines.Caller{Progress: asked.pacer.reporter()})
	case server.IsModernRequest(ctx):
		done = c.begin(ctx, asked)
	default:
		done = c.perform(ctx, asked, engines.Caller{
			Elicit: c.asker(asked), Progress: asked.pacer.reporter()})
	}
	asked.code = done.code
	return done.result, nil
}

// outcome is how a call went: code is empty when it went well.
type outcome struct {
	result *mcp.CallToolResult
	code   fault.Code
}

// perform calls the tool. Every failure becomes a result, also that of an
// unknown tool, for which the protocol suggests a JSON-RPC error: clients show
// models the results, not the errors, and the nearest name is of use to them.
func (c *connection) perform(ctx context.Context, asked *call, caller engines.Caller) (done outcome) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.server.logPanic(asked.tool, panicked)
			done = failed(fault.From(errors.New("panic")))
		}
	}()
	ctx = engines.WithCaller(ctx, caller)
	tool, _ := c.server.options.Registry.Resolve(asked.tool)
	result, err := c.server.options.Registry.Invoke(ctx, asked.tool, asked.args)
	switch {
	case err != nil:
		coded := fault.From(err)
		c.server.logCause("tool failed", asked.tool, coded)
		done = failed(coded)
	case result.Artifact != "" && len(tool.Output) > 0:
		done = failed(unfit(result))
	default:
		done = outcome{result: succeeded(result)}
	}
	if result.Receipt != "" {
		attach(done.result, result.Receipt, tool.Output)
	}
	if done.result.IsError && !takesFaults(tool.Output) {
		done.result.StructuredContent = nil // clients hold it against the output schema, and show that it does not fit
	}
	return done
}

// logCall records a call: at debug level, or as a warning with its parts timed
// when it was slow. Arguments and results are never logged.
func (s *Server) logCall(ctx context.Context, r *request, called time.Time) {
	asked, now := r.call, time.Now()
	outcome := "ok"
	switch {
	case errors.Is(context.Cause(ctx), errCancelledByClient):
		outcome = "cancelled"
	case asked.code != "":
		outcome = string(asked.code)
	}
	took := now.Sub(r.received)
	if s.options.SlowCall > 0 && took > s.options.SlowCall {
		s.logger.Warn("slow call", "tool", asked.tool, "outcome", outcome, "took", took,
			"queued", asked.started.Sub(r.received), "call", called.Sub(asked.started), "reply", now.Sub(called))
		return
	}
	s.logger.Debug("call", "tool", asked.tool, "outcome", outcome, "took", took)
}

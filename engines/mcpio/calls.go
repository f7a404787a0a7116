package mcpio

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
)

// call is a tools/call request and its timing.
type call struct {
	*request
	target engines.Target
	args   json.RawMessage
	key    string // see engines.Target.OrderKey
	turn   *turn
	pacer  *pacer
	// started is when the call left the queue.
	started time.Time
	code    fault.Code
}

// startCall queues a call and runs it on a goroutine. It is called on the reading
// goroutine.
func (c *connection) startCall(ctx context.Context, r *request, to deliver) {
	name, isText := textOf(r.params.Name)
	if !isText {
		c.answerSoon(ctx, to, jsonrpc.Fail(r.ID, jsonrpc.InvalidParams, "params.name is not a string", nil))
		return
	}
	asked := &call{request: r, target: c.server.options.Registry.Target(name), args: r.params.Arguments}
	if kind := jsonrpc.Kind(asked.args); kind == "" || kind == "null" {
		asked.args = json.RawMessage("{}")
	}
	asked.key = asked.target.OrderKey(asked.args)
	var joined bool
	if asked.turn, joined = c.queue.join(asked.key, len(r.Raw)); !joined {
		c.answerSoon(ctx, to, refusal(r, fault.New(fault.LimitExceeded, "too many calls are waiting; send fewer at once")))
		return
	}
	callCtx, end := c.running.begin(ctx, r.Scope, r.ID)
	c.work.Go(func() {
		defer end()
		c.runCall(callCtx, asked, to)
	})
}

// runCall waits for a call's turn, runs it, and delivers the reply before the next call
// of the same key begins. A question to the client's user goes the way that the client
// supports: not at all, by a request of the server, or, from revision 2026-07-28 on, by
// suspending the call.
func (c *connection) runCall(ctx context.Context, asked *call, to deliver) {
	defer asked.turn.leave()
	if asked.turn.before != nil { // also if it was cancelled: a later call could overtake one that still runs
		<-asked.turn.before
	}
	if ctx.Err() != nil {
		replyTo(ctx, to, refusal(asked.request, fault.New(fault.EngineOffline, "the server is stopping")))
		return
	}
	asked.started = time.Now()
	asked.pacer = newPacer(asked.params.Meta, asked.Send)
	traced, end := c.traced(ctx, asked)
	answer := asked.readEra()
	if asked.canShowApps() {
		name, _ := textOf(asked.params.Name)
		if page := c.server.options.Apps.Tools().Target(name); page.Exists() {
			asked.target = page
		}
	}
	if answer == nil && asked.target.TasksOnly() && asked.lacksTasks() {
		answer = asked.failed()
	}
	if answer == nil {
		resumed := c.suspendedCall(traced, asked)
		var caller engines.Caller
		if asked.pacer != nil {
			caller.Progress = asked.pacer.report
		}
		var done outcome
		switch {
		case resumed != nil:
			done = c.resume(traced, resumed, asked)
		case asked.Peer.modern && (asked.canAsk() || asked.canPoll()):
			done = c.begin(traced, asked)
		case asked.canAsk():
			caller.Person = asked
			fallthrough
		default:
			done = c.perform(traced, asked, caller)
		}
		asked.code = done.code
		answer = asked.reply(done)
	}
	called := time.Now()
	end()
	asked.pacer.finish(ctx)
	replyTo(ctx, to, answer)
	c.server.logCall(ctx, asked, called)
}

// reply returns the reply to a call that has ended, asks, or became a task.
func (asked *call) reply(done outcome) *jsonrpc.Reply {
	var result mcp.ResultMetadata = done.result
	if done.task != nil {
		result = done.task.result(false)
	}
	if asked.Peer.modern {
		asked.stamp(result)
	}
	return jsonrpc.Succeed(asked.ID, result)
}

// refusal answers a request that is not started.
func refusal(r *request, coded *fault.Error) *jsonrpc.Reply {
	return jsonrpc.Fail(r.ID, jsonrpc.NotBegun, coded.Error(), coded)
}

// outcome is the result of a call; code is empty on success.
type outcome struct {
	result *callResult
	code   fault.Code
	// task is what the call became instead, or nil.
	task *task
}

// perform calls the tool. Every failure becomes a result, including an unknown tool,
// for which the protocol suggests a JSON-RPC error: clients show models results but not
// errors, and the nearest name helps a model.
func (c *connection) perform(ctx context.Context, asked *call, caller engines.Caller) (done outcome) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.server.logPanic(asked.target.Name(), panicked)
			done = newOutcome(asked.target, engines.Result{}, errors.New("panic"))
		}
	}()
	caller.Spell, caller.Identity, caller.Apps = asked.speller(), asked.identity(), asked.canShowApps()
	result, err := asked.target.Invoke(ctx, engines.Call{Caller: caller}, asked.args)
	if err != nil {
		c.server.logCause("tool failed", asked.target.Name(), fault.From(err))
	}
	done = newOutcome(asked.target, result, spelled(err, caller.Spell))
	if linked, is := result.Value.(engines.Linked); is && asked.Peer.takesLinks() {
		linked.Links(func(uri, name string, size int) {
			done.result.Content = append(done.result.Content, linkBlock{"resource_link", uri, name, size})
		})
	}
	return done
}

// identity returns who makes a request, with what the client calls itself.
func (r *request) identity() engines.Identity {
	caller := r.Caller
	caller.Client = strings.TrimSpace(r.Peer.Name + " " + r.Peer.Version)
	return caller
}

// logCall logs a call: at debug level, or as a warning with a timing breakdown if it
// was slow. Arguments and results are never logged.
func (s *Server) logCall(ctx context.Context, asked *call, called time.Time) {
	tool, now := asked.target.Name(), time.Now()
	outcome := "ok"
	switch {
	case errors.Is(context.Cause(ctx), ErrCancelledByClient):
		outcome = "cancelled"
	case asked.code != "":
		outcome = string(asked.code)
	}
	took := now.Sub(asked.received)
	if s.options.SlowCall > 0 && took > s.options.SlowCall {
		s.logger.Warn("slow call", "tool", tool, "outcome", outcome, "took", took,
			"queued", asked.started.Sub(asked.received), "call", called.Sub(asked.started), "reply", now.Sub(called))
		return
	}
	s.logger.Debug("call", "tool", tool, "outcome", outcome, "took", took)
}

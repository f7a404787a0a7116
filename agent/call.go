package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/telemetry"
)

// act makes the remaining calls of a turn concurrently.
func (r *Run) act(t turn) (turn, Signal, error) {
	t.done = slices.Clone(t.done)
	var calling errgroup.Group
	calling.SetLimit(maxParallel)
	for _, each := range t.asked {
		calling.Go(func() (err error) {
			t.done[each.number], err = r.call(each)
			return err
		})
	}
	if err := calling.Wait(); err != nil {
		return t, failed, err
	}
	if r.ctx.Err() != nil {
		return t, canceled, nil
	}
	t.asked = nil
	t.outcome = r.outcomeOfForced(t)
	return t, done, nil
}

// call makes one call, emits its events and appends it to the journal. A call
// interrupted by the end of the run is not appended. The only error is STATE_NOT_SAVED;
// a failure of the tool is in the returned call.
func (r *Run) call(a requestedCall) (memory.Call, error) {
	tool, known := find(r.runtime.options.Toolbox.Tools(), a.ToolName)
	r.event(a.step, callStarted(a))
	if !known {
		tool, a.absent = r.seek(a)
		known = tool.Name != ""
	}
	if err := r.recordBegun(a, tool); err != nil {
		return memory.Call{}, err
	}
	began := r.runtime.options.Now()
	call, seen := r.result(a, tool)
	if r.ctx.Err() != nil && call.Error != nil {
		return memory.Call{}, nil
	}
	call.DurationMS = milliseconds(r.runtime.options.Now().Sub(began))
	for _, e := range callEnded(a.id(), call) {
		r.event(a.step, e)
	}
	durability := memory.Durability(!tool.ReadOnly && call.Rule == "" && known)
	return call, r.append(recordCall, callRecord{Step: a.step, Number: a.number, Call: call, witness: seen}, durability)
}

// recordBegun appends a write-ahead record of a call that must not be repeated, if
// another machine may take the run over.
func (r *Run) recordBegun(a requestedCall, tool engines.Tool) error {
	repeatable := tool.Name == "" || tool.ReadOnly || tool.Idempotent
	if !r.session.Shared() || repeatable || a.uncertain || a.incomplete || r.options.DryRun || r.guard.denies(tool, r.orderOf(a)) != "" {
		return nil
	}
	return r.append(recordBegun, begunRecord{a.step, a.number}, memory.Durable)
}

// result returns the result of a call, from the cache if the tool only reads. An
// idempotent tool that fails is retried up to RetryLimit times.
func (r *Run) result(a requestedCall, tool engines.Tool) (call memory.Call, seen witness) {
	call = memory.Call{Tool: a.ToolName, Args: r.runtime.redactor.JSON(a.Args)}
	allowed := tool.Name != "" && r.guard.denies(tool, r.orderOf(a)) == ""
	key := cacheKey(a.Call)
	if a.incomplete {
		call.Error = fault.New(fault.ToolFailed, "%s was not called again when the run continued: its arguments held text that looks like a secret, "+
			"which is not kept; it is not known whether the earlier call had an effect", a.ToolName)
		return call, seen
	}
	if a.uncertain {
		call.Error = fault.New(fault.ToolFailed, "a worker called %s and was lost, and the call was not repeated: it is not known whether it had an effect; find out before you call it again", a.ToolName)
		return call, seen
	}
	if allowed && r.options.DryRun && changes(tool) {
		call.Note = "dry run: not called"
		return call, seen
	}
	if earlier, cached := r.cache.Get(key); cached && allowed && tool.ReadOnly && r.runtime.options.Now().Sub(earlier.at) < r.runtime.options.CacheFor {
		earlier.call.Cached = true
		return earlier.call, seen
	}
	result, err := r.invoke(a, tool)
	for again := 0; err != nil && again < r.runtime.options.RetryLimit && r.mayRepeat(tool, err); again++ {
		r.event(a.step, telemetry.Event{Type: telemetry.Retry, ToolName: tool.Name, Error: failure(err)})
		result, err = r.invoke(a, tool)
	}
	seen = r.witnessOf(a, tool, result, err)
	if err != nil {
		call.Error = r.clean(err)
		call.Rule, _ = fault.From(err).Extra["rule"].(string)
	} else {
		call.Output = r.runtime.redactor.JSON(result.JSON)
		call, err = r.session.Keep(call)
		r.warn("an output was not stored completely", err)
	}
	r.remembersResult(key, call, tool)
	return call, seen
}

// seek looks for an unregistered tool on mounted servers. That may start a server, so
// policy is checked first.
func (r *Run) seek(a requestedCall) (engines.Tool, error) {
	reading := engines.Tool{Name: a.ToolName, ReadOnly: true}
	from, seeks := r.runtime.options.Toolbox.(Seeker)
	if !seeks || r.options.DryRun || r.guard.denies(reading, r.orderOf(a)) != "" {
		return engines.Tool{}, nil
	}
	return from.Seek(r.ctx, a.ToolName)
}

// abandonAfter is the grace period of a running call once the run has ended.
const abandonAfter = 25 * time.Millisecond

// invoke calls a tool if policy and the person permit it. When the run ends, a tool
// that does not return is abandoned.
func (r *Run) invoke(a requestedCall, tool engines.Tool) (engines.Result, error) {
	type answer struct {
		result engines.Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		err := r.permit(r.ctx, a, tool)
		var result engines.Result
		if err == nil {
			call := engines.Call{Caller: engines.Caller{Patient: true, Identity: engines.Identity{Name: r.options.Who.By, Client: strings.TrimSpace("savant agent " + a.model)}}, Agent: engines.AgentStep{RunID: r.ID(), Step: a.step, Tool: a.ToolName, Notes: r}, Orderers: r.options.orderers, Within: r.options.Within}
			if display := r.runtime.options.Display; display != nil {
				call.Progress = display.Progress(tool.Name)
			}
			result, err = r.runtime.options.Toolbox.Invoke(r.ctx, call.Guarded(r.guard), tool.Name, a.Args)
		}
		answers <- answer{result, err}
	}()
	select {
	case got := <-answers:
		return got.result, got.err
	case <-r.ctx.Done():
	}
	select {
	case got := <-answers:
		return got.result, got.err
	case <-time.After(abandonAfter):
		return engines.Result{}, fault.New(fault.ToolFailed, "%s was cut short: %w", a.ToolName, context.Cause(r.ctx))
	}
}

// permit checks whether a call is allowed. The errors are UNKNOWN_TOOL, TOOL_DENIED
// with the rule, or the failure of the question to the person.
func (r *Run) permit(ctx context.Context, a requestedCall, tool engines.Tool) error {
	if errors.Is(a.absent, fault.EngineOffline) {
		return a.absent
	}
	if tool.Name == "" {
		return r.guard.unknown(a.ToolName, r.runtime.options.Toolbox.Tools())
	}
	rule := r.guard.denies(tool, r.orderOf(a))
	if rule == "" && !rules[r.current()].calls {
		rule = RuleState
	}
	if rule != "" {
		return ruleError(tool.Name, rule)
	}
	return r.guard.confirm(ctx, tool, a.Args, r.orderOf(a))
}

// orderOf returns the rules that a call is exempt from.
func (r *Run) orderOf(a requestedCall) order {
	if !a.forced {
		return order{}
	}
	return r.options.orderOf(a.ToolName)
}

// mayRepeat reports whether a failed call may be retried.
func (r *Run) mayRepeat(tool engines.Tool, err error) bool {
	repeatable := []fault.Code{fault.ToolFailed, fault.ToolTimeout, fault.EngineOffline, fault.EngineBusy, fault.Internal}
	return r.ctx.Err() == nil && (tool.ReadOnly || tool.Idempotent) && slices.Contains(repeatable, fault.From(err).Code)
}

// cachedCall is a call that was made, and when it was answered.
type cachedCall struct {
	call memory.Call
	at   time.Time
}

// maxCached bounds the cached results of a run.
const maxCached = 64

// cacheKey is equal for calls of the same tool with equal arguments.
func cacheKey(call reasoning.Call) string {
	value, err := jsonvalue.Decode(call.Args)
	if err != nil {
		return ""
	}
	digest, err := jsonvalue.Digest(value)
	if err != nil {
		return ""
	}
	return call.ToolName + " " + digest
}

// remembersResult caches the result of a local call that only reads. Any call that may
// write clears the cache, because it may have changed what was read.
func (r *Run) remembersResult(key string, call memory.Call, tool engines.Tool) {
	switch {
	case !tool.ReadOnly && call.Rule == "":
		r.cache.Purge()
	case call.Error == nil && key != "" && !outside(tool):
		r.cache.Add(key, cachedCall{call, r.runtime.options.Now()})
	}
}

// outcomeOfForced returns how a forced call ends the run; the outcome is empty if the
// run goes on. A forced call ends the run in a dry run, with ForceFinish, when its
// workflow has ended or waits for somebody, and when an explicit order cannot be
// started. A workflow that only the goal selected does not end the run if its
// parameters are missing.
func (r *Run) outcomeOfForced(t turn) outcome {
	if t.intent.Model != forcedBy || len(t.done) == 0 {
		return outcome{}
	}
	o, call := r.options, t.done[0]
	ordered := o.ForceTool != "" || o.Workflow != ""
	begun := call.Tool == workflowTool && call.Rule == ""
	switch {
	case o.DryRun:
		return outcome{Status: StatusOK, Final: "ok"}
	case call.Error != nil && (o.ForceFinish || ordered && call.Error.Code == fault.UnknownTool ||
		begun && (ordered || call.Error.Code != fault.InvalidParams)):
		return outcome{Status: StatusError, Error: call.Error}
	case call.Error != nil:
		return outcome{}
	}
	if begun {
		if end := r.outcomeOfWorkflow(call); end.Status != "" {
			return end
		}
	}
	if o.ForceFinish {
		return outcome{Status: StatusOK, Final: readable(call.Output)}
	}
	return outcome{}
}

// readable returns the human-readable part of an output, else its JSON.
func readable(output json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(output, &members) == nil {
		for _, name := range []string{"summary", "final", "text", "answer"} {
			if text, _ := members[name].(string); text != "" {
				return text
			}
		}
	}
	return fault.Cut(string(output), 4000)
}

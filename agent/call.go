package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/telemetry"
)

// act makes the calls of a turn that are still to be made, several at once.
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

// call makes one call, records it and writes it to the journal. A call that the
// end of the run cut short is not written. The error is STATE_NOT_SAVED; what
// went wrong with the call is in the call.
func (r *Run) call(a asked) (memory.Call, error) {
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
	made := r.result(a, tool)
	if r.ctx.Err() != nil && made.Error != nil {
		return memory.Call{}, nil
	}
	made.DurationMS = milliseconds(r.runtime.options.Now().Sub(began))
	for _, e := range callEnded(a.id(), made) {
		r.event(a.step, e)
	}
	durability := memory.Durability(!tool.ReadOnly && made.Rule == "" && known)
	return made, r.append(recordCall, callRecord{Step: a.step, Number: a.number, Call: made}, durability)
}

// recordBegun records that a call is about to be made which is not to be made twice,
// where another machine may go on with the run by itself.
func (r *Run) recordBegun(a asked, tool engines.Tool) error {
	repeatable := tool.Name == "" || tool.ReadOnly || tool.Idempotent
	if !r.session.Shared() || repeatable || a.uncertain || a.incomplete || r.options.DryRun || r.guard.denies(tool, r.orderOf(a)) != "" {
		return nil
	}
	return r.append(recordBegun, begunRecord{a.step, a.number}, memory.Durable)
}

// result answers a call: from the cache if it only reads, or by the tool. A tool
// that may be called twice is called again after a failure, RetryLimit times.
func (r *Run) result(a asked, tool engines.Tool) memory.Call {
	made := memory.Call{Tool: a.ToolName, Args: r.runtime.redactor.JSON(a.Args)}
	allowed := tool.Name != "" && r.guard.denies(tool, r.orderOf(a)) == ""
	key := cacheKey(a.Call)
	if a.incomplete {
		made.Error = fault.New(fault.ToolFailed, "%s was not called again when the run went on: its arguments held what looks like a secret, "+
			"which is not kept; whether the call before had an effect is not known", a.ToolName)
		return made
	}
	if a.uncertain {
		made.Error = fault.New(fault.ToolFailed, "%s was begun by a worker that was lost, and was not called again: whether it had an effect is not known; find out before it is called once more", a.ToolName)
		return made
	}
	if allowed && r.options.DryRun && changes(tool) {
		made.Note = "dry run: not called"
		return made
	}
	if earlier, cached := r.cache.Get(key); cached && allowed && tool.ReadOnly {
		earlier.Cached = true
		return earlier
	}
	result, err := r.invoke(a, tool)
	for again := 0; err != nil && again < r.runtime.options.RetryLimit && r.mayRepeat(tool, err); again++ {
		r.event(a.step, telemetry.Event{Type: telemetry.Retry, ToolName: tool.Name, Error: failure(err)})
		result, err = r.invoke(a, tool)
	}
	if err != nil {
		made.Error = r.clean(err)
		made.Rule, _ = fault.From(err).Extra["rule"].(string)
	} else {
		made.Output = r.runtime.redactor.JSON(result.JSON)
		made, err = r.session.Keep(made)
		r.warn("an output is not kept whole", err)
	}
	r.remembersResult(key, made, tool)
	return made
}

// seek looks further for a tool that nobody has yet, if policy would let it be
// called: to look for it may start a server.
func (r *Run) seek(a asked) (engines.Tool, error) {
	reading := engines.Tool{Name: a.ToolName, ReadOnly: true}
	from, seeks := r.runtime.options.Toolbox.(Seeker)
	if !seeks || r.options.DryRun || r.guard.denies(reading, r.orderOf(a)) != "" {
		return engines.Tool{}, nil
	}
	return from.Seek(r.ctx, a.ToolName)
}

// abandonAfter is how long a call may take to return once the run has ended.
const abandonAfter = 25 * time.Millisecond

// invoke calls a tool if policy and the person let it. When the run ends, a tool
// that does not return is abandoned.
func (r *Run) invoke(a asked, tool engines.Tool) (engines.Result, error) {
	type answer struct {
		result engines.Result
		err    error
	}
	answers := make(chan answer, 1)
	ctx := withCaller(r.ctx, Caller{RunID: r.ID(), Step: a.step, Tool: a.ToolName})
	go func() {
		err := r.permit(ctx, a, tool)
		var result engines.Result
		if err == nil {
			caller := engines.Caller{Patient: true}
			if looks := r.runtime.options.Progress; looks != nil {
				caller.Progress = looks(tool.Name)
			}
			ctx = engines.WithCaller(ctx, caller)
			result, err = r.runtime.options.Toolbox.Invoke(engines.GuardWithin(ctx, r.guard), tool.Name, a.Args)
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

// permit says whether a call may be made: UNKNOWN_TOOL, TOOL_DENIED with the
// rule, or the error of asking the person.
func (r *Run) permit(ctx context.Context, a asked, tool engines.Tool) error {
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
		return refused(tool.Name, rule)
	}
	return r.guard.confirm(ctx, tool, a.Args, r.orderOf(a))
}

// orderOf says which rules a call escapes.
func (r *Run) orderOf(a asked) order {
	if !a.forced {
		return order{}
	}
	return r.options.orderOf(a.ToolName)
}

// mayRepeat says whether a failed call may be made once more.
func (r *Run) mayRepeat(tool engines.Tool, err error) bool {
	repeatable := []fault.Code{fault.ToolFailed, fault.ToolTimeout, fault.EngineOffline, fault.EngineBusy, fault.Internal}
	return r.ctx.Err() == nil && (tool.ReadOnly || tool.Idempotent) && slices.Contains(repeatable, fault.From(err).Code)
}

// maxCached is how many results a run holds for calls that repeat themselves.
const maxCached = 64

// cacheKey is the same for calls of one tool with equal arguments.
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

// remembersResult caches a call that only read, and empties the cache after one
// that may have changed what others read.
func (r *Run) remembersResult(key string, made memory.Call, tool engines.Tool) {
	switch {
	case !tool.ReadOnly && made.Rule == "":
		r.cache.Purge()
	case made.Error == nil && key != "":
		r.cache.Add(key, made)
	}
}

// outcomeOfForced is the end of a run after a forced call, where that ends it: in
// a dry run, with ForceFinish, or when a workflow has ended or waits for somebody. What
// was ordered and cannot be begun ends the run, too: nothing else would do. A workflow
// that only the goal led to, without what it needs to begin, does not.
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

// readable returns the part of an output that is meant for people, or its JSON.
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

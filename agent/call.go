package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/telemetry"
)

// act makes the calls of the step that are still to be made, several at once,
// and builds the step of all of them.
func (r *Run) act() (Signal, error) {
	asked := r.intent.AllCalls()
	failures := make([]error, len(asked))
	places := make(chan struct{}, maxParallel)
	var calling sync.WaitGroup
	for i := range asked {
		if !r.pending[i] {
			continue
		}
		places <- struct{}{}
		calling.Go(func() {
			defer func() { <-places }()
			failures[i] = r.complete(i, asked[i])
		})
	}
	calling.Wait()
	if err := errors.Join(failures...); err != nil {
		return failed, err
	}
	if r.ctx.Err() != nil {
		return canceled, nil
	}
	r.step = r.stepOf(r.index, r.intent, r.calls)
	r.afterForced()
	return done, nil
}

// stepOf is the step that calls make. Where policy denied all of them, nothing
// was done: it is one that only reasons.
func (r *Run) stepOf(index int, intent reasoning.Intent, calls []memory.Call) memory.Step {
	step := memory.Step{Index: index, Action: string(intent.Action), Reasoning: intent.Reasoning, Calls: calls}
	if len(calls) > 0 && !slices.ContainsFunc(calls, func(c memory.Call) bool { return c.Rule == "" }) {
		step.Action = string(reasoning.ActionReason)
	}
	r.notes = notesOf(calls)
	return step
}

// notesOf are what whoever decides is told of calls that were not made.
func notesOf(calls []memory.Call) []string {
	var notes []string
	for _, each := range calls {
		if each.Error != nil && (each.Error.Code == fault.ToolDenied || each.Error.Code == fault.UnknownTool) {
			notes = append(notes, each.Error.Details)
		}
	}
	return notes
}

// complete makes one call and keeps what came of it. The error is one of
// keeping; a call that was cut short by the end of the run is not kept.
func (r *Run) complete(i int, asked reasoning.Call) error {
	tool, known := find(r.runtime.options.Toolbox.Tools(), asked.ToolName)
	id := callID(r.index, i)
	r.event(begun(id, asked))
	began := r.runtime.options.Now()
	made := r.lacking(asked)
	if !slices.Contains(r.withheld, i) {
		made = r.make(tool, asked)
	}
	if r.ctx.Err() != nil && made.Error != nil {
		return nil
	}
	made.DurationMS = float64(r.runtime.options.Now().Sub(began)) / float64(time.Millisecond)
	r.recordCall(id, made)
	durability := memory.Durability(!tool.ReadOnly && made.Rule == "" && known)
	if err := r.session.Append(recordCall, callRecord{Step: r.index, Number: i, Call: made}, durability); err != nil {
		return err
	}
	r.calls[i], r.pending[i] = made, false
	return nil
}

// lacking is a call of which the journal has not all arguments. Made with what
// it has, it would be another one than was decided.
func (r *Run) lacking(asked reasoning.Call) memory.Call {
	return memory.Call{Tool: asked.ToolName, Args: asked.Args, Error: fault.New(fault.ToolFailed,
		"%s was not called again when the run went on: its arguments held what looks like a secret, which is not kept; whether the call before had an effect is not known", asked.ToolName)}
}

// callID names a call within its run: step 2, first call is 2.1.
func callID(step, number int) string { return fmt.Sprintf("%d.%d", step, number+1) }

// make makes one call, or answers it from an earlier one with the same
// arguments that only read.
func (r *Run) make(tool engines.Tool, asked reasoning.Call) memory.Call {
	made := memory.Call{Tool: asked.ToolName, Args: r.runtime.redactor.JSON(asked.Args)}
	if r.order.DryRun && (!tool.ReadOnly || tool.OpenWorld) && tool.Name != "" && r.box.denies(tool) == "" {
		made.Note = "dry run: not called"
		return made
	}
	key := cacheKey(asked)
	if earlier, ok := r.cache.get(key); ok && tool.ReadOnly && r.box.denies(tool) == "" {
		earlier.Cached = true
		return earlier
	}
	result, err := r.invoke(asked)
	if err != nil && r.again(tool, err) {
		result, err = r.invoke(asked)
	}
	if err != nil {
		made.Error = r.clean(err)
		made.Rule, _ = fault.From(err).Extra["rule"].(string)
	} else {
		made.Output = r.runtime.redactor.JSON(result.JSON)
		made = r.keep(made)
	}
	r.cache.put(key, made, tool.ReadOnly)
	return made
}

// keep bounds what the memory holds of an output. Where the whole cannot be
// kept its beginning has to do.
func (r *Run) keep(made memory.Call) memory.Call {
	kept, err := r.session.Keep(made)
	if err != nil {
		r.warn("an output is not kept whole", err)
	}
	return kept
}

// leave is how long a call may take to return once the run has ended.
const leave = 25 * time.Millisecond

// invoke calls a tool. When the run ends it does not wait for a tool that
// takes long to notice.
func (r *Run) invoke(asked reasoning.Call) (engines.Result, error) {
	type answer struct {
		result engines.Result
		err    error
	}
	answers := make(chan answer, 1)
	ctx := withCaller(r.ctx, Caller{RunID: r.ID(), Step: r.index, Tool: asked.ToolName})
	go func() {
		result, err := r.box.Invoke(ctx, asked.ToolName, asked.Args)
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
	case <-time.After(leave):
		return engines.Result{}, fault.New(fault.ToolFailed, "%s was cut short: %w", asked.ToolName, context.Cause(r.ctx))
	}
}

// again says whether a failed call is made once more, and tells of it.
func (r *Run) again(tool engines.Tool, err error) bool {
	coded := fault.From(err)
	if r.ctx.Err() != nil || !tool.ReadOnly && !tool.Idempotent {
		return false
	}
	switch coded.Code {
	case fault.ToolFailed, fault.ToolTimeout, fault.EngineOffline, fault.EngineBusy, fault.Internal:
		r.event(telemetry.Event{Type: telemetry.Retry, ToolName: tool.Name, Error: failure(coded)})
		return true
	}
	return false
}

// afterForced ends the run after a forced call, where that is wanted: a dry
// run, ForceFinish, or a workflow that was run to its end.
func (r *Run) afterForced() {
	if r.intent.Model != forcedBy || len(r.calls) == 0 {
		return
	}
	call := r.calls[0]
	switch {
	case r.order.DryRun:
		r.outcome = outcome{Status: StatusOK, Final: "ok"}
	case call.Error != nil && (r.order.ForceFinish || r.order.names() && nothingOfTheName(call.Error)):
		r.outcome = outcome{Status: StatusFailed, Error: call.Error}
	case call.Error == nil && (r.order.ForceFinish || call.Tool == workflowTool && finished(call.Output)):
		r.outcome = outcome{Status: StatusOK, Final: readable(call.Output)}
	}
}

// names says whether a tool or a workflow is ordered by its name.
func (o Order) names() bool { return o.ForceTool != "" || o.Workflow != "" }

// nothingOfTheName says whether what was ordered does not exist: nothing else
// would do.
func nothingOfTheName(err *fault.Error) bool {
	return err.Code == fault.UnknownTool || err.Code == fault.UnknownWorkflow
}

// cache holds the latest calls of a run that only read, until something is
// called that may change what they read. Calls of one step share it.
type cache struct {
	mu    sync.Mutex
	calls map[string]memory.Call
	order []string // their keys, the earliest first
	bytes int      // of their outputs
}

// maxCache bounds the outputs of a cache, in bytes.
const maxCache = 512 << 10

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

func (c *cache) get(key string) (memory.Call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.calls[key]
	return found, ok && key != ""
}

func (c *cache) put(key string, made memory.Call, readOnly bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !readOnly && made.Rule == "":
		clear(c.calls)
		c.order, c.bytes = nil, 0
	case made.Error == nil && key != "":
		c.add(key, made)
	}
}

// add keeps a call, and lets go of the earliest where they are too large.
func (c *cache) add(key string, made memory.Call) {
	if _, again := c.calls[key]; again { // two calls of one step were the same
		return
	}
	c.calls[key], c.order = made, append(c.order, key)
	for c.bytes += len(made.Output); c.bytes > maxCache; c.order = c.order[1:] {
		c.bytes -= len(c.calls[c.order[0]].Output)
		delete(c.calls, c.order[0])
	}
}

// finished says whether the output of a workflow is that of one that is done.
func finished(output json.RawMessage) bool {
	var said struct {
		Done    *bool  `json:"done"`
		Outcome string `json:"outcome"`
		Status  string `json:"status"`
	}
	if json.Unmarshal(output, &said) != nil {
		return false
	}
	return said.Done != nil && *said.Done || said.Outcome == "done" || said.Status == "done" || said.Status == "ok"
}

// readable returns the part of an output that is meant for people, or its JSON.
func readable(output json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(output, &members) == nil {
		for _, name := range []string{"summary", "final", "text", "answer"} {
			var text string
			if json.Unmarshal(members[name], &text) == nil && text != "" {
				return text
			}
		}
	}
	return fault.Cut(string(output), 4000)
}

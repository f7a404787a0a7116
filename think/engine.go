// Package think guides a language model through a workflow: it issues one instruction
// at a time, checks each result, keeps a durable record and decides what comes next.
// The client executes.
package think

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/check"
	"savant/think/flow"
	"savant/think/library"
	"savant/think/state"
)

// Options configure an Engine. Library and Store are required.
type Options struct {
	Library *library.Library
	Store   state.Storage
	// Tools are the tools that steps call; nil is AnyTools.
	Tools Tools
	// Receipts are what calls through the registry left; nil: they leave nothing.
	Receipts state.Receipts
	// Imports knows which runs were imported; nil: none.
	Imports Imports
	// Rules reads the rules of workflows; nil: no run of a workflow with rules is planned.
	Rules Rules
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID returns a fresh run id; nil draws one at random.
	NewID  func() string
	Logger *slog.Logger
	// ProjectEvery is how long a run rests before its readable file is written;
	// 0 means a second. A run that does not rest is written after five times
	// that.
	ProjectEvery time.Duration
	// Hub knows where the hub is; nil: nobody does.
	Hub Hub
}

// Hub is the pages where persons answer. Methods may be called at once.
type Hub interface {
	// URL is the address of the hub for browsers; empty: it is not known now.
	URL() string
}

// Tools are the tools that steps call, as a registry has them. Methods may be called at
// once.
type Tools interface {
	check.Choices
	// Known reports whether the registry has a tool.
	Known(name string) bool
	// Schemas returns what is known of a tool's arguments and results, so that the calls
	// of a workflow are checked before it runs.
	Schemas(name string) (check.Tool, bool)
	// Version changes whenever Schemas may answer otherwise.
	Version() uint64
	// Names lists the tools, for suggestions.
	Names() []string
	// Unpublished returns the engine of a known tool that this server does not publish,
	// and "" for any other tool.
	Unpublished(name string) (engine string)
	// Missing returns why the engine of an unknown tool is unavailable, or nil if there is
	// no such engine.
	Missing(ctx context.Context, name string) error
	// Commands returns the current digests of the commands that some tools may carry out,
	// by name; nil if no tool does.
	Commands(tools []string) map[string]string
	// Asked returns the canonical name of a called tool and the digest of its arguments,
	// as a receipt has them: INVALID_PARAMS, UNKNOWN_TOOL and no name.
	Asked(call string, input json.RawMessage) (tool, digest string, err error)
	// Fits checks a value against the output schema of a tool: VALIDATION_FAILED, or nil
	// if the tool or its schema is unknown.
	Fits(call string, value any) error
}

// AnyTools has every tool and knows nothing of it.
type AnyTools struct{}

// ToolChoices implements Tools, as the other methods do.
func (AnyTools) ToolChoices(string) map[string][]string { return nil }

// Known reports that there is the tool.
func (AnyTools) Known(string) bool { return true }

// Schemas knows none.
func (AnyTools) Schemas(string) (check.Tool, bool) { return check.Tool{}, false }

// Version never changes.
func (AnyTools) Version() uint64 { return 0 }

// Names lists none.
func (AnyTools) Names() []string { return nil }

// Unpublished knows none.
func (AnyTools) Unpublished(string) (engine string) { return "" }

// Missing knows of none.
func (AnyTools) Missing(context.Context, string) error { return nil }

// Commands knows none.
func (AnyTools) Commands([]string) map[string]string { return nil }

// Asked takes the name and the input as they are.
func (AnyTools) Asked(call string, input json.RawMessage) (tool, digest string, err error) {
	value, err := jsonvalue.Decode(input)
	if err == nil {
		digest, err = jsonvalue.Digest(value)
	}
	return call, digest, err
}

// Fits takes every value.
func (AnyTools) Fits(string, any) error { return nil }

// Rules reads the rules about calls that a workflow's file has, see flow.Workflow.Ruled.
type Rules interface {
	check.Rules
	// Check returns what is wrong with them, and what is odd; one without a severity is an
	// error.
	Check(*flow.Workflow) []fault.Diagnostic
	// Demands says in a few words what they demand.
	Demands(*flow.Workflow) string
}

// Imports says which records of a run were imported. *state.Dir implements it.
type Imports interface {
	// Imported returns the version up to which they were, or 0.
	Imported(ctx context.Context, key state.Key) (version int, err error)
	// MarkImported notes that the records up to a link were.
	MarkImported(ctx context.Context, key state.Key, last state.Link) error
}

// Engine is Think. It is safe for concurrent use; calls on one run are serialized.
type Engine struct {
	Options
	mu       sync.Mutex
	live     map[state.Key]*live
	uses     int                  // counts the calls of hold
	named    map[string]state.Key // runs called for by their id alone
	callers  callers
	concerns map[state.Key]concern
	projects *projector
	checks   map[*flow.Graph]checkedGraph
}

// checkedGraph caches the findings in a workflow for a version of the tools.
type checkedGraph struct {
	tools uint64
	found check.Report
}

// maxChecked bounds the cached findings of graphs. The cache is emptied when it is
// full.
const maxChecked = 64

// checked returns what is wrong with a workflow. The library returns the same graph
// while its files do not change, so a second plan uses the cache.
func (e *Engine) checked(graph *flow.Graph) check.Report {
	tools := e.Tools.Version()
	e.mu.Lock()
	known, ok := e.checks[graph]
	e.mu.Unlock()
	if !ok || known.tools != tools {
		known = checkedGraph{tools, e.findings(graph)}
		e.mu.Lock()
		if len(e.checks) >= maxChecked {
			clear(e.checks)
		}
		e.checks[graph] = known
		e.mu.Unlock()
	}
	found := known.found // the caller may change the lists
	return check.Report{Errors: slices.Clone(found.Errors), Warnings: slices.Clone(found.Warnings), Notes: slices.Clone(found.Notes)}
}

// findings are what is wrong with a workflow and with its rules.
func (e *Engine) findings(graph *flow.Graph) check.Report {
	report := check.Graph(graph, e.Tools.Schemas, e.Rules)
	if !graph.Ruled() {
		return report
	}
	workflows := graph.Workflows()
	for _, reference := range slices.Sorted(maps.Keys(workflows)) {
		if w := workflows[reference]; w.Ruled && e.Rules == nil {
			report.Errors = append(report.Errors, fault.Diagnostic{File: w.File, Path: "rules", Code: fault.YAMLSchemaViolation, Message: "the workflow has rules, and nothing here makes them hold"})
		} else if w.Ruled {
			report.Add(e.Rules.Check(w), string(w.Source))
		}
	}
	return report
}

// checkedNow is checked with what may be otherwise at each call.
func (e *Engine) checkedNow(graph *flow.Graph) check.Report {
	report := e.checked(graph)
	chosen := check.CheckChoices(graph, e.Tools)
	report.Errors, report.Warnings = append(report.Errors, chosen.Errors...), append(report.Warnings, chosen.Warnings...)
	return report
}

// live is a run in memory. It is only a cache: the journal is the truth.
type live struct {
	mu      sync.Mutex
	key     state.Key
	run     *flow.Run
	now     flow.Outcome // the present state, without the last change
	version int          // of the last record applied
	hash    string       // of the last record applied
	pins    map[string]pin
	// commands are the digests of the commands that the run was planned with.
	commands map[string]string
	times    map[int]time.Time // when outstanding steps were issued, by version
	refused  int               // calls that the gate refused
	usages   map[int]usage     // of approvals that cover calls, by their versions
	// writing is how long the last projection took; the projector guards it.
	writing time.Duration
	used    int // last use, by the engine's counter; guarded by the engine's mutex
}

// moved sets the state of a run after a record, with the time of the record.
func (l *live) moved(out flow.Outcome, record state.Record, at time.Time) {
	l.times[record.Version] = at
	l.update(out, record)
}

// update sets the state of a run after a record whose time is known.
func (l *live) update(out flow.Outcome, record state.Record) {
	l.now, l.version, l.hash = out, record.Version, record.Hash
	l.now.Change, l.now.Rejected = flow.Change{}, nil
	l.run.ReleaseCaptures()
	maps.DeleteFunc(l.times, func(version int, _ time.Time) bool {
		return !slices.ContainsFunc(out.Instructions, func(next flow.Instruction) bool { return next.Version == version })
	})
}

// instruction returns the issued instruction of a step.
func (l *live) instruction(step flow.Handle) (next flow.Instruction, outstanding bool) {
	return l.issued(step.ID())
}

// issued returns the instruction of an issued step by its id.
func (l *live) issued(id string) (next flow.Instruction, outstanding bool) {
	for _, next := range l.now.Instructions {
		if next.StepID == id {
			return next, true
		}
	}
	return flow.Instruction{}, false
}

// outstanding returns the ids of the steps that wait for an answer.
func (l *live) outstanding() []string {
	ids := make([]string, len(l.now.Instructions))
	for i, next := range l.now.Instructions {
		ids[i] = next.StepID
	}
	return ids
}

// maxLive bounds the runs in memory; the least recently used one is evicted. maxNamed
// bounds the cached workflows of ids.
const (
	maxLive  = 128
	maxNamed = 4096
)

// New returns an Engine. Close it to write what is still to be projected.
func New(options Options) *Engine {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Tools == nil {
		options.Tools = AnyTools{}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.NewID == nil {
		options.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	if options.ProjectEvery <= 0 {
		options.ProjectEvery = time.Second
	}
	e := &Engine{Options: options, live: map[state.Key]*live{}, named: map[string]state.Key{}, concerns: map[state.Key]concern{}, checks: map[*flow.Graph]checkedGraph{}}
	e.projects = &projector{engine: e, every: e.ProjectEvery, closing: make(chan struct{}), waiting: map[state.Key]*due{}, latest: map[string]string{}}
	return e
}

// Close writes the pending projections and ends the background work. The store stays
// open.
func (e *Engine) Close() { e.projects.close() }

// hold returns the live entry of a run, locked; the caller unlocks it.
func (e *Engine) hold(key state.Key) *live {
	e.mu.Lock()
	l := e.live[key]
	if l == nil {
		l = &live{key: key}
		e.live[key] = l
	}
	e.uses++
	l.used = e.uses
	e.evict()
	e.mu.Unlock()
	l.mu.Lock()
	return l
}

// evict drops the least recently used run if there are too many; e.mu is held. A caller
// that still uses the run is unaffected, because the journal is authoritative.
func (e *Engine) evict() {
	if len(e.live) <= maxLive {
		return
	}
	var oldest *live
	for _, l := range e.live {
		if oldest == nil || l.used < oldest.used {
			oldest = l
		}
	}
	delete(e.live, oldest.key)
}

// open returns a run brought up to its journal, locked; the caller unlocks it. Of a run
// that is gone, another workflow may have one of its id.
func (e *Engine) open(ctx context.Context, workflow, run string) (*live, error) {
	key, err := e.Locate(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	l, err := e.openAt(ctx, key)
	if errors.Is(err, fault.UnknownRun) && PlainName(workflow) == "" {
		e.forgetWorkflow(run)
		if key, err = e.Locate(ctx, "", run); err == nil {
			l, err = e.openAt(ctx, key)
		}
	}
	return l, err
}

func (e *Engine) openAt(ctx context.Context, key state.Key) (*live, error) {
	l := e.hold(key)
	opened := false
	defer func() {
		if !opened { // also after a panic: others wait for the run
			l.forget()
			l.mu.Unlock()
		}
	}()
	if err := e.refresh(ctx, l); err != nil {
		return nil, err
	}
	opened = true
	return l, nil
}

// forgetWorkflow drops the cached workflow of a run's id.
func (e *Engine) forgetWorkflow(run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.named, run)
}

// forget drops a run from memory, so that it is read from disk again.
func (l *live) forget() {
	l.run, l.now, l.version, l.hash, l.times, l.refused, l.usages = nil, flow.Outcome{}, 0, "", nil, 0, nil
}

// Locate completes a key: a run may be named without its workflow where its id
// is unique. UNKNOWN_RUN, INVALID_PARAMS.
func (e *Engine) Locate(ctx context.Context, workflow, run string) (state.Key, error) {
	if run == "" {
		return state.Key{}, fault.New(fault.InvalidParams, "run_id is missing: use the one that think.plan returned")
	}
	workflow = PlainName(workflow)
	if workflow != "" {
		key := state.Key{Workflow: workflow, Run: run}
		return key, key.Validate()
	}
	e.mu.Lock()
	key, known := e.named[run]
	e.mu.Unlock()
	if known {
		return key, nil
	}
	found, err := e.Store.List(ctx, state.Filter{Run: run})
	if err != nil {
		return state.Key{}, err
	}
	switch len(found) {
	case 1:
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.named) >= maxNamed {
			e.named = map[string]state.Key{}
		}
		e.named[run] = found[0].Key()
		return e.named[run], nil
	case 0:
		return state.Key{}, fault.New(fault.UnknownRun, "no run %q", fault.Cut(run, 120)).Hinted(fault.Hint{Call: "think.state.list", Text: "lists the runs"})
	}
	return state.Key{}, fault.New(fault.InvalidParams, "several workflows have a run %q: name the workflow", run)
}

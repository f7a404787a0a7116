package think

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// The kinds of records about approvals that cover calls. They change no state of the run.
const (
	KindUsed    = "used"    // a call that an approval covered is about to be made
	KindRevoked = "revoked" // a person took an approval back
)

// usedData is the data of a record of kind KindUsed or KindRevoked.
type usedData struct {
	Step string `json:"step"`
	// Approval is the version of the answer that gave the approval.
	Approval int            `json:"approval"`
	Tool     string         `json:"tool,omitempty"`
	Input    map[string]any `json:"input,omitempty"`
	attribution
}

// usage is what the records of a run say of one approval.
type usage struct {
	used    int
	revoked bool
}

// isAside reports whether a record changes no state of its run.
func isAside(record state.Record) bool {
	return record.Kind == KindRefused || record.Kind == KindUsed || record.Kind == KindRevoked
}

// usagesIn adds up what records say of approvals, by the versions of those. A reset takes
// no use back.
func usagesIn(records []state.Record, usages map[int]usage) map[int]usage {
	if usages == nil {
		usages = map[int]usage{}
	}
	for _, record := range records {
		var data usedData
		if record.Kind != KindUsed && record.Kind != KindRevoked || decodeData(record, &data) != nil {
			continue
		}
		found := usages[data.Approval]
		if record.Kind == KindUsed {
			found.used++
		} else {
			found.revoked = true
		}
		usages[data.Approval] = found
	}
	return usages
}

// ScopedApproval is an approval of a run that covers calls.
type ScopedApproval struct {
	Workflow string `json:"workflow"`
	RunID    string `json:"run_id"`
	Step     string `json:"step_id"`
	// Version is that of the answer, By who gave it.
	Version int    `json:"version"`
	By      string `json:"by"`
	Call    string `json:"call"`
	Where   string `json:"where,omitempty"`
	AtMost  int    `json:"at_most"`
	Used    int    `json:"used"`
	Expires string `json:"expires"`
	// Over says why it covers no more calls, revoked, used up, expired or imported, or not
	// the one that was asked about; else it is empty.
	Over string `json:"over,omitempty"`
	// Given is the time of the answer.
	Given time.Time `json:"-"`
}

// Key names the run.
func (a ScopedApproval) Key() state.Key { return state.Key{Workflow: a.Workflow, Run: a.RunID} }

// ScopedApprovals returns the approvals of a run that cover calls, in the order of its
// steps: UNKNOWN_RUN.
func (e *Engine) ScopedApprovals(ctx context.Context, workflow, run string) ([]ScopedApproval, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	list := []ScopedApproval{}
	for _, each := range l.run.View().Approved("") {
		approval, err := e.scoped(ctx, l, each)
		if err != nil {
			return nil, err
		}
		list = append(list, approval)
	}
	return list, nil
}

func (e *Engine) scoped(ctx context.Context, l *live, of flow.Approved) (out ScopedApproval, err error) {
	record, err := e.record(ctx, l.history(), of.Version)
	if err != nil {
		return out, err
	}
	given, err := time.Parse(time.RFC3339Nano, record.Time)
	if err != nil {
		return out, fault.New(fault.StateCorrupt, "record %d of run %s has no time", of.Version, l.key)
	}
	scope, used := of.Scope, l.usages[of.Version]
	out = ScopedApproval{Workflow: l.key.Workflow, RunID: l.key.Run, Step: of.Step, Version: of.Version, By: EventOf(record).By, Call: scope.Call, AtMost: scope.Most,
		Used: used.used, Expires: given.Add(time.Duration(scope.Within) * time.Millisecond).UTC().Format(time.RFC3339), Given: given}
	if scope.Where != nil {
		out.Where = scope.Where.Source()
	}
	imported, err := e.imported(ctx, l.key)
	out.Over = endOfGrant(scope.Grant, used, e.Now().Sub(given))
	switch {
	case of.Declined:
		out.Over = "it was declined"
	case of.Version <= imported:
		out.Over = "it was given elsewhere, and imported"
	}
	return out, err
}

// skew is how far the clocks of two machines may be apart.
const skew = time.Minute

// endOfGrant says why an approval covers no more calls, "" where it does. A clock that was set
// back does not lengthen it.
func endOfGrant(grant flow.Grant, of usage, after time.Duration) string {
	switch {
	case of.revoked:
		return "it was revoked"
	case of.used >= grant.Most:
		return "it is used up"
	case after < -skew || !grant.Reaches(of.used, after.Milliseconds()):
		return "it has expired"
	}
	return ""
}

// ScopedCall is a call within a run, with arguments as its tool gets them.
type ScopedCall struct {
	Tool  string
	Input map[string]any
	// Driven: Savant makes the call for a step of the run; else it has to be one that the run
	// issued, for a client may follow several runs.
	Driven bool
}

// Coverage returns what the approvals of a run say about a call, in the order of the steps;
// none where no approval is about the tool.
func (e *Engine) Coverage(ctx context.Context, key state.Key, call ScopedCall) ([]ScopedApproval, error) {
	l, err := e.openAt(ctx, key)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	return e.coverage(ctx, l, call)
}

// maxCovered bounds the arguments of a call that an approval covers, in bytes of JSON: they
// are recorded with each use.
const maxCovered = 8000

func (e *Engine) coverage(ctx context.Context, l *live, call ScopedCall) (list []ScopedApproval, err error) {
	raw, err := jsonvalue.Encode(call.Input)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the arguments are not JSON: %w", err)
	}
	for _, each := range l.run.View().Approved(call.Tool) {
		found, err := e.scoped(ctx, l, each)
		if err != nil {
			return nil, err
		}
		switch {
		case found.Over != "":
		case l.run.Cancelled() != nil:
			found.Over = "the run was cancelled"
		case len(raw) > maxCovered:
			found.Over = "its arguments are too long"
		case !call.Driven && !e.issues(l, call.Tool, raw):
			found.Over = "the run did not issue it"
		default:
			if found.Over, err = e.misfit(ctx, l.history(), l.run, each, call.Input); err != nil {
				return nil, err
			}
		}
		list = append(list, found)
	}
	return list, nil
}

// issues reports whether a run waits for a call, or for an answer of the model that may make
// calls of the tool meanwhile.
func (e *Engine) issues(l *live, tool string, input []byte) bool {
	_, asked, err := e.Tools.Asked(tool, input)
	return err == nil && slices.ContainsFunc(l.now.Instructions, func(next flow.Instruction) bool {
		if next.Allow != nil && slices.ContainsFunc(*next.Allow, func(pattern string) bool { fits, _ := path.Match(pattern, tool); return fits }) {
			return true
		}
		_, issued, err := e.Tools.Asked(next.Call, jsonvalue.Encoded(next.Input))
		return next.Call == tool && err == nil && issued == asked
	})
}

// Use uses an approval up for one call: APPROVAL_REQUIRED where it no longer covers it. The
// first to write the record uses it: of two calls at once, in whatever processes, one.
func (e *Engine) Use(ctx context.Context, approval ScopedApproval, call ScopedCall, by Caller) error {
	l, err := e.openAt(ctx, approval.Key())
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	return e.insist(ctx, l, KindUsed, func() (usedData, error) {
		found, err := e.coverage(ctx, l, call)
		at := slices.IndexFunc(found, func(each ScopedApproval) bool { return each.Version == approval.Version })
		if err == nil && (at < 0 || found[at].Over != "") {
			err = fault.New(fault.ApprovalRequired, "the approval of step %s no longer covers the call", approval.Step)
		}
		return usedData{Step: approval.Step, Approval: approval.Version, Tool: call.Tool, Input: call.Input, attribution: by.attribution()}, err
	})
}

// insist appends a record that changes no state. Where another process was first, what is to
// be recorded is decided anew.
func (e *Engine) insist(ctx context.Context, l *live, kind string, decide func() (usedData, error)) error {
	for {
		data, err := decide()
		if err == nil {
			err = e.aside(ctx, l, kind, data)
		}
		if !errors.Is(err, fault.StateConflict) || ctx.Err() != nil {
			return err
		}
		if err := e.refresh(ctx, l); err != nil {
			return err
		}
	}
}

// misfit says why a call is none of an approval's scope, "" where it is one.
func (e *Engine) misfit(ctx context.Context, p history, run *flow.Run, of flow.Approved, input map[string]any) (string, error) {
	return query(ctx, e, p, run, func() (string, []flow.Ref) { return of.Misfit(input) })
}

// aside appends a record that changes no state.
func (e *Engine) aside(ctx context.Context, l *live, kind string, data any) error {
	out := l.now
	out.Version = l.version + 1
	record, err := e.write(ctx, l.key, kind, out, e.Now(), data)
	if err != nil {
		l.forget()
		return err
	}
	l.run.SkipTo(record.Version)
	l.usages = usagesIn([]state.Record{record}, l.usages)
	l.update(out, record)
	e.project(ctx, l, false)
	return nil
}

// Revoke takes an approval back: the scope of a step that a person approved covers no more
// calls. INVALID_TRANSITION where it covers none.
//
// Only callers that act for a person may call it; no tool does.
func (e *Engine) Revoke(ctx context.Context, workflow, run, step string, by Caller) error {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	return e.insist(ctx, l, KindRevoked, func() (usedData, error) {
		all := l.run.View().Approved("")
		at := slices.IndexFunc(all, func(each flow.Approved) bool {
			return each.Step == step && !each.Declined && !l.usages[each.Version].revoked
		})
		if at < 0 {
			return usedData{}, fault.New(fault.InvalidTransition, "step %s of run %s has no approval that covers calls", fault.Cut(step, 100), l.key.Run)
		}
		return usedData{Step: step, Approval: all[at].Version, attribution: by.attribution()}, nil
	})
}

// used checks a record of a use or a revocation against the run before it.
func (r *Replay) used(ctx context.Context, record state.Record) error {
	var data usedData
	if err := decodeData(record, &data); err != nil {
		return err
	}
	all := r.run.View().Approved("")
	at := slices.IndexFunc(all, func(each flow.Approved) bool {
		return each.Version == data.Approval && each.Step == data.Step && !each.Declined
	})
	if at < 0 || data.Approval >= record.Version {
		return doesNotFollow(record, fault.New(fault.ApprovalRequired, "step %s has no such approval", fault.Cut(data.Step, 100)))
	}
	if record.Kind == KindRevoked {
		return nil
	}
	records, err := r.recordsBefore(ctx, record.Version)
	if err != nil {
		return err
	}
	given, err := time.Parse(time.RFC3339Nano, records[data.Approval-1].Time)
	if err != nil {
		return doesNotFollow(record, err)
	}
	now, err := time.Parse(time.RFC3339Nano, record.Time)
	if err != nil {
		return doesNotFollow(record, err)
	}
	r.usages, r.counted = usagesIn(records[r.counted:], r.usages), len(records)
	why := endOfGrant(all[at].Scope.Grant, r.usages[data.Approval], now.Sub(given))
	if data.Tool != all[at].Scope.Call {
		why = "it is about another tool"
	}
	if why == "" {
		if why, err = r.engine.misfit(ctx, r.past, r.run, all[at], data.Input); err != nil {
			return err
		}
	}
	if why != "" {
		return doesNotFollow(record, fault.New(fault.ApprovalRequired, "the approval of step %s does not cover the call: %s", data.Step, why))
	}
	return nil
}

func (r *Replay) recordsBefore(ctx context.Context, version int) ([]state.Record, error) {
	if version <= len(r.past.records) {
		return r.past.records[:version-1], nil
	}
	return r.engine.Store.Records(ctx, r.past.key, 0, version-1)
}

// personOf names the person behind who handed an answer in: a token by its name; whoever
// sits at this machine, in whatever program, is ByLocal.
func personOf(by string) string {
	if by == "" || slices.Contains([]string{ByLocal, ByTerminal, ByHub, ByHook}, by) {
		return ByLocal
	}
	return by
}

// Person names the person behind the caller, as approvers: does.
func (c Caller) Person() string { return personOf(c.Name) }

// maxScoped bounds the runs of a caller whose approvals may cover a call: its last.
const maxScoped = 32

// RunsOf returns the last runs that a caller planned or named.
func (e *Engine) RunsOf(caller Caller) []state.Key {
	runs := e.callers.runs(caller)
	return runs[:min(len(runs), maxScoped)]
}

// Scoped reports whether a run goes on in which a person was asked to approve calls of a
// tool. A run whose workflow has no such step is read once, since every call of a tool asks.
func (e *Engine) Scoped(ctx context.Context, key state.Key, tool string) bool {
	if about, known := e.concernOf(key); known && !slices.Contains(about.scoped, tool) {
		return false
	}
	l, err := e.openAt(ctx, key)
	if err != nil {
		return false // it is gone
	}
	defer l.mu.Unlock()
	e.noteConcern(key, l.run.View().Graph())
	return l.now.Final == nil && len(l.run.View().Approved(tool)) > 0
}

// concern is what a run's workflow says of calls beside its steps: the tools that approvals
// may cover, and whether it has rules. It is remembered, since every call of a tool asks.
type concern struct {
	scoped []string
	ruled  bool
}

func (e *Engine) concernOf(key state.Key) (about concern, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	about, known = e.concerns[key]
	return about, known
}

func (e *Engine) noteConcern(key state.Key, graph *flow.Graph) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.concerns) >= maxNamed {
		clear(e.concerns)
	}
	e.concerns[key] = concern{graph.Scoped(), graph.Ruled()}
}

// Ruling is a workflow under way in a run, with rules about the calls of its session.
type Ruling struct {
	Run state.Key
	flow.Ruling
}

// Rulings returns the workflows with rules that a run follows now, outermost first; none for
// a run that has ended or is gone. The error is of a run with rules that cannot be read any
// more; one that never could be does not go on.
func (e *Engine) Rulings(ctx context.Context, key state.Key) (list []Ruling, err error) {
	about, known := e.concernOf(key)
	if known && !about.ruled {
		return nil, nil
	}
	l, err := e.openAt(ctx, key)
	if errors.Is(err, fault.UnknownRun) || !known && errors.Is(err, fault.StateCorrupt) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	graph := l.run.View().Graph()
	if e.noteConcern(key, graph); !graph.Ruled() || l.now.Final != nil {
		return nil, nil
	}
	if e.Rules == nil {
		return nil, fault.New(fault.RuleRefused, "run %s has rules, and nothing here makes them hold", key)
	}
	reads := map[string][]string{}
	for _, each := range graph.Workflows() {
		if each.Ruled {
			reads[each.Digest] = e.Rules.Reads(each)
		}
	}
	found, err := query(ctx, e, l.history(), l.run, func() ([]flow.Ruling, []flow.Ref) { return l.run.View().Rulings(reads) })
	for _, each := range found {
		list = append(list, Ruling{key, each})
	}
	return list, err
}

package sessions

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/rules"
	"savant/think"
)

// Options configure a Keeper.
type Options struct {
	// Files has the folder of rules.
	Files fs.FS
	// Root keeps the journal of calls.
	Root   *os.Root
	Logger *slog.Logger
	Now    func() time.Time
	// Approver is the person at the terminal, who is asked about calls of the agent; it may
	// be nil.
	Approver engines.Approver
	// Rulings has the rules of the runs that a call follows, and Approvals what persons said
	// there; nil: none.
	Rulings   Rulings
	Approvals Approvals
	// Process names this process among those that write the journal; "" draws a name.
	Process string
}

// Keeper makes the rules of a folder hold. It implements engines.Rules. A folder without
// rules costs one look at the disk for each call.
type Keeper struct {
	options Options
	process string

	mutex   sync.Mutex
	version string // of the files of rules that are loaded
	folder  sources
	// workflows are the files of workflows whose rules hold for some calls.
	workflows sources
	sources   sources // both
	digest    string  // of the sources
	set       *rules.Set
	broken    error // why they could not be loaded
	journal   journals
	pruned    bool
	past
	overview overview
}

// past is what the records of sessions tell.
type past struct {
	history *rules.History
	open    map[string]*running // by the journal's name of the call
	asked   map[string]*question
	scoped  map[string]int // the calls of a question that an approval of a run covered
}

func newPast(set *rules.Set) past {
	return past{rules.NewHistory(set), map[string]*running{}, map[string]*question{}, map[string]int{}}
}

// running is a call that is reserved and not settled.
type running struct {
	made    *rules.Made
	process string
	// lost: another process noted that nobody knows how it ended. It may end after all.
	lost bool
}

// Open returns the keeper of a folder.
func Open(options Options) *Keeper {
	k := &Keeper{options: options, process: cmp.Or(options.Process, newName()), set: rules.New(), workflows: sources{}}
	k.forget()
	return k
}

// forget makes the keeper read the journal from its beginning.
func (k *Keeper) forget() {
	k.journal, k.past = journals{root: k.options.Root, read: map[string]int64{}}, newPast(k.set)
}

// load reads the rules again where their files changed.
func (k *Keeper) load() error {
	if version := fingerprint(k.options.Files); version != k.version {
		k.version = version
		if k.folder, k.broken = readSources(k.options.Files); k.broken == nil {
			k.broken = k.combine()
		}
	}
	if k.broken == nil {
		return nil
	}
	failure := fault.From(k.broken)
	return fault.New(fault.RuleRefused, "no tool is called while the rules cannot be read: %s", failure.Message()).With(failure.Diagnostics...)
}

// combine makes the rules of the folder and of workflows hold together.
func (k *Keeper) combine() error {
	all := maps.Clone(k.workflows)
	maps.Copy(all, k.folder)
	set, err := all.parse()
	if err == nil {
		k.set, k.sources, k.digest = set, all, all.digest()
		k.forget()
	}
	return err
}

// Set returns the rules that hold.
func (k *Keeper) Set() (*rules.Set, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	err := k.load()
	return k.set, err
}

// Reserve implements engines.Rules.
func (k *Keeper) Reserve(ctx context.Context, call engines.Call, tool engines.Tool, args json.RawMessage) (engines.Reservation, error) {
	asked, about, err := k.callOf(ctx, call, tool.Name, args)
	if err != nil || !about {
		return nil, err
	}
	verdict, reserved, err := k.reserve(ctx, call, asked)
	for err == nil && reserved == nil { // other rules may hold once a person has answered
		if err = k.approve(ctx, call, verdict); err == nil {
			verdict, reserved, err = k.reserve(ctx, call, asked)
		}
	}
	if err != nil {
		return nil, err
	}
	reserved.tool, reserved.notes = tool, call.AgentRun().Notes
	if err := reserved.note(reserved.begun); err != nil {
		reserved.Settle(ctx, engines.Ended{Err: err})
		return nil, err
	}
	return reserved, nil
}

// Check judges a call without making it. refusal is what a call that is refused would get.
func (k *Keeper) Check(ctx context.Context, call engines.Call, tool string, args json.RawMessage) (verdict rules.Verdict, refusal *fault.Error, err error) {
	asked, about, err := k.callOf(ctx, call, tool, args)
	if err != nil || !about {
		return rules.Verdict{Call: asked, Decision: rules.Allow}, nil, err
	}
	err = k.locked(ctx, asked, func() error {
		verdict, refusal, _, err = k.judge(ctx, call, asked)
		return err
	})
	return verdict, refusal, err
}

// judge decides about a call under the lock of the journal. Of one about which a person is asked,
// the decision is what they answered, if they have.
func (k *Keeper) judge(ctx context.Context, call engines.Call, asked rules.Call) (verdict rules.Verdict, refusal *fault.Error, by *think.ScopedApproval, err error) {
	if err := k.holds(asked.Runs); err != nil {
		return verdict, nil, nil, err
	}
	asked.Time = k.options.Now().UnixMilli() // in the order of the records
	if err := k.adopt(call, asked.Session); err != nil {
		return verdict, nil, nil, err
	}
	if err := k.settleLost(asked); err != nil {
		return verdict, nil, nil, err
	}
	verdict, by, err = k.consent(ctx, call, rules.Decide(k.set, k.history, asked))
	switch {
	case err != nil:
	case verdict.Decision == rules.Refuse:
		refusal = verdict.Fault()
	case verdict.Decision == rules.Ask:
		known := k.asked[questionOf(verdict)]
		switch {
		case by != nil || known.agreed(asked.Time):
			verdict.Decision = rules.Allow
		case known != nil && known.declined && !known.waits: // the next call like it asks again
			verdict.Decision = rules.Refuse
			refusal = fault.New(fault.RuleRefused, "%s was not called: the person declined: %s", asked.Tool, strings.Join(verdict.Questions(), " "))
		}
	}
	return verdict, refusal, by, err
}

// reserve judges a call under the lock of the journal, and writes it down before it is
// made. Where a person has to approve it first, there is no reservation.
func (k *Keeper) reserve(ctx context.Context, call engines.Call, asked rules.Call) (verdict rules.Verdict, reserved *reservation, err error) {
	err = k.locked(ctx, asked, func() error {
		var refusal *fault.Error
		var by *think.ScopedApproval
		if verdict, refusal, by, err = k.judge(ctx, call, asked); err != nil || verdict.Decision == rules.Ask {
			return err
		}
		added, err := k.noted(ctx, call, verdict, by)
		if err != nil {
			return err
		}
		if refusal != nil {
			added.Kind, added.Call = kindRefused, ""
		}
		if err := k.write(added); err != nil || refusal != nil {
			return cmp.Or(err, error(refusal))
		}
		reserved = &reservation{keeper: k, begun: added}
		return nil
	})
	return verdict, reserved, err
}

// newName draws a name for a call or a process.
func newName() string { return strings.ToLower(rand.Text()[:16]) }

// begun is the record of a call that is about to be made.
func (k *Keeper) begun(name string, call rules.Call) record {
	return record{Kind: kindCall, Call: name, Process: k.process, Session: call.Session, Tool: call.Tool, Input: call.Input, Time: call.Time, Witness: call.Witness, Runs: call.Runs}
}

// locked runs work when nobody else judges a call, and the history is that of all
// processes. Rules that reach over sessions need those of all; of these, a hook, which reads
// them for one event, leaves out what ended before any rule looks at it, and the calls that
// change nothing about the one in question, which has no tool where all of them count.
func (k *Keeper) locked(ctx context.Context, of rules.Call, work func() error) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	reach, since := time.Duration(k.set.Reach())*time.Millisecond, time.Time{}
	if k.process == OfHooks {
		since = k.options.Now().Add(-max(reach, longest))
		if k.forget(); of.Tool != "" {
			k.journal.glance = &glance{k.set.Traces(of), map[string]bool{}}
		}
	}
	return k.journal.locked(ctx, of.Session, reach > 0, since, k.replay, func() error {
		if !k.pruned && k.process != OfHooks { // a hook has no time for it
			if err := k.journal.prune(k.options.Now()); err != nil {
				return err
			}
		}
		k.pruned = true
		return work()
	})
}

// write appends a record to the journal of its session and takes it in.
func (k *Keeper) write(added record) error {
	if err := k.journal.append(added.Session, added); err != nil {
		return err
	}
	k.replay(added)
	return nil
}

// end is the record that a call ended.
func (k *Keeper) end(session, name string, outcome rules.Outcome) record {
	return record{Kind: kindEnd, Call: name, Session: session, Time: k.options.Now().UnixMilli(), Outcome: outcome}
}

// call is the call that a record is about. An empty input is left out of a record, and an older
// one may have a sign at a zero.
func (r record) call() rules.Call {
	if r.Input == nil {
		r.Input = map[string]any{}
	}
	rules.Plain(r.Input)
	return rules.Call{Tool: r.Tool, Input: r.Input, Session: r.Session, Time: r.Time, Witness: r.Witness, Runs: r.Runs}
}

// replay takes in one record.
func (p *past) replay(read record) {
	if read.passed > 0 {
		p.history.Skip(read.Session, read.passed)
	}
	switch read.Kind {
	case kindCall:
		p.open[read.Call] = &running{made: p.history.Reserve(read.call()), process: read.Process}
		if read.Scope != "" {
			p.scoped[read.Question+read.Scope]++
		} else if asked := p.asked[read.Question]; asked != nil {
			asked.left--
		}
	case kindEnd:
		if known := p.open[read.Call]; known != nil {
			p.history.Settle(known.made, read.Outcome, read.Result, read.Receipt)
			if known.lost = true; read.Outcome != rules.Unknown {
				delete(p.open, read.Call)
			}
		}
	case kindRefused:
		p.history.Refuse(read.call())
		delete(p.asked, read.Question)
	case kindAsked:
		p.asked[read.Question] = &question{record: read, waits: true}
	case kindAnswer:
		if asked := p.asked[read.Question]; asked != nil {
			asked.answer(read)
		}
	}
}

// longest is how long a call may run before nobody waits for it.
const longest = time.Hour

// settleLost notes of calls whose process is gone that nobody knows how they ended: of
// the same session, since one process at a time has it, and of others after an hour.
func (k *Keeper) settleLost(call rules.Call) error {
	return k.lose(func(each *running) bool {
		return each.process != k.process && each.made.Session == call.Session || each.made.Time < call.Time-longest.Milliseconds()
	})
}

// lose notes that nobody knows how some of the open calls ended.
func (k *Keeper) lose(which func(*running) bool) error {
	for name, each := range k.open {
		if !each.lost && which(each) {
			if err := k.write(k.end(each.made.Session, name, rules.Unknown)); err != nil {
				return err
			}
		}
	}
	return nil
}

// callOf returns a call as the rules see it. about: they have to judge it.
func (k *Keeper) callOf(ctx context.Context, call engines.Call, tool string, args json.RawMessage) (of rules.Call, about bool, err error) {
	set, runs, err := k.holding(ctx, call)
	if err != nil || !set.Reads(tool) && (k.options.Approvals == nil || !k.options.Approvals.About(ctx, call, tool)) {
		return rules.Call{Tool: tool}, false, err
	}
	input := map[string]any{}
	if len(args) > 0 {
		value, err := jsonvalue.Decode(args)
		if err != nil {
			return rules.Call{}, false, fault.New(fault.InvalidParams, "%s: %w", tool, err)
		}
		input, _ = rules.Plain(value).(map[string]any)
	}
	return rules.Call{Tool: tool, Input: input, Session: k.sessionOf(call), Time: k.options.Now().UnixMilli(), Witness: "gateway", Runs: runs}, true, nil
}

// sessionOf names the session of a call. What does not outlast this process is apart from
// what had the same name in another one.
func (k *Keeper) sessionOf(call engines.Call) string {
	name, lasting := call.Session()
	if lasting {
		return name
	}
	return "process " + k.process + " " + name
}

// reservation implements engines.Reservation.
type reservation struct {
	keeper *Keeper
	begun  record
	tool   engines.Tool
	notes  engines.Notes
}

// note keeps a record with the agent's run, if there is one. The rules that judged the call are
// this machine's.
func (r *reservation) note(kept record) error {
	if r.notes == nil {
		return nil
	}
	kept.Set, kept.Rules, kept.Uses = "", nil, nil
	note, err := jsonvalue.Encode(kept)
	if err != nil {
		return fault.New(fault.Internal, "encoding a call: %w", err)
	}
	return r.notes.Note(note)
}

// adopt takes in what earlier drivers of an agent's run noted, as far as it was not noted here.
func (k *Keeper) adopt(call engines.Call, session string) error {
	notes := call.AgentRun().Notes
	if notes == nil {
		return nil
	}
	return notes.Earlier(func(all []json.RawMessage) error {
		known, here := map[string]bool{}, journals{root: k.options.Root, read: map[string]int64{}}
		if err := here.followOne(here.fileOf(session), func(read record) { known[read.Kind+read.Call] = true }); err != nil {
			return err
		}
		for _, note := range all {
			var read record
			if err := jsonvalue.UnmarshalStored(note, &read); err != nil || read.Kind == "" {
				return fault.New(fault.StateCorrupt, "a note of %s is not a record of its calls", session)
			}
			if read.Session = session; known[read.Kind+read.Call] {
				continue
			}
			if err := k.write(read); err != nil {
				return err
			}
		}
		return nil
	})
}

// Settle implements engines.Reservation.
func (r *reservation) Settle(ctx context.Context, ended engines.Ended) {
	k := r.keeper
	outcome := rules.OutcomeOf(ended.Err == nil)
	if ended.Err != nil && (ended.Cut || unknown(ended.Err)) {
		outcome = rules.Unknown
	}
	added := k.end(r.begun.Session, r.begun.Call, outcome)
	added.Receipt = ended.Receipt
	if outcome == rules.Succeeded {
		added.Result = bare(r.tool, ended)
	}
	if err := errors.Join(k.locked(ctx, r.begun.call(), func() error { return k.write(added) }), r.note(added)); err != nil {
		k.options.Logger.WarnContext(ctx, "how a call ended could not be noted for the rules: its outcome counts as unknown", "tool", r.tool.Name, "cause", err.Error())
	}
}

// unknown reports whether a failed call may have had an effect.
func unknown(err error) bool {
	var coded *fault.Error
	if !errors.As(err, &coded) {
		return true // a panic, or the end of the context
	}
	_, marked := coded.Extra["outcome"]
	return marked || coded.Code == fault.Internal || coded.Code == fault.ToolTimeout || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

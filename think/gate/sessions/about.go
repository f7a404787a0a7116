package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/gate"
	"savant/think/state"
)

// about is the runs concerned by an event that is a call of Think.
type about struct {
	prefix string
	// runs are the runs of this project that the session plans or continues.
	runs []state.Key
	// probe is the digest of a call that is about to start a run, and step the one that
	// a call is about to answer.
	probe, step string
	// planned is the workflow of a call that is about to start a run, or did. lost says
	// that it did and that the client's report does not surely show which.
	planned string
	lost    bool
}

// nothing reports whether an event concerns no run of a session, which may be nil.
func (a about) nothing(s *session) bool {
	return len(a.runs) == 0 && a.probe == "" && (a.planned == "" || s == nil)
}

// about reads what an event says of runs.
func (g *Gate) about(ctx context.Context, e gate.Event) (about, error) {
	name, prefix, ok := gate.Stepping(e.Tool)
	if !ok || e.Kind != gate.BeforeTool && e.Kind != gate.AfterTool {
		return about{}, nil
	}
	said := about{prefix: prefix}
	if e.Kind == gate.BeforeTool && gate.Plans(name) {
		said.probe = probeOf(text(e.Input, "workflow"), text(e.Input, "run_id"))
	}
	if gate.Plans(name) {
		said.planned = workflowOf(e)
	}
	if e.Kind == gate.BeforeTool {
		said.step = text(e.Input, "step_id")
	}
	ids := []string{}
	if id := text(e.Input, "run_id"); id != "" && !gate.Plans(name) {
		ids = append(ids, id)
	}
	if e.Kind == gate.AfterTool {
		run, cut, failed := replyOf(e.Output)
		if named := text(e.Input, "run_id"); (run == "" || cut) && !failed && gate.Plans(name) {
			run, said.lost = cmp.Or(named, run), named == ""
		}
		if run != "" {
			ids = append(ids, run)
		}
	}
	for _, id := range ids {
		found, err := g.find(ctx, id)
		if errors.Is(err, fault.InvalidParams) {
			continue // not a valid run id
		}
		if err != nil {
			return said, err
		}
		for _, key := range found {
			if workflow := workflowOf(e); workflow == "" || len(found) == 1 || key.Workflow == workflow {
				said.runs = append(said.runs, key)
			}
		}
	}
	return said, nil
}

// workflowOf is the workflow that a call is about, as its runs name it.
func workflowOf(e gate.Event) string { return think.PlainName(text(e.Input, "workflow")) }

// continued returns the pairs that a call is about that answers a step: those of the runs
// that it names, or all of the session where it names none.
func (a about) continued(s *session) []*pair {
	if a.step == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Pairs), func(each *pair) bool { return len(a.runs) > 0 && !slices.Contains(a.runs, each.key()) })
}

// asked notes that the hook was asked about a call that answers a step.
func (p *pair) asked(step string) {
	if slices.Contains(p.Asked, step) {
		return
	}
	if p.Asked = append(p.Asked, step); len(p.Asked) > maxAsked {
		p.Asked = p.Asked[1:]
	}
}

// maxRecorded is how many refusals since the run's last progress get a record each.
// After that a record stands for as many refusals as came before it.
const maxRecorded = 8

// record writes a refusal into the journal of its run. A refusal that cannot be
// recorded is counted by the next one that can.
func (g *Gate) record(ctx context.Context, s *session, e gate.Event, d gate.Decision) {
	for _, each := range s.Pairs {
		if each.Run.ID != d.Run || each.Run.Workflow != d.Workflow {
			continue
		}
		if each.RefusedAt != each.Run.Progress {
			each.RefusedAt, each.Refused = each.Run.Progress, 0
		}
		each.Refused++
		each.Unrecorded++
		if each.Refused > maxRecorded && each.Refused&(each.Refused-1) != 0 {
			return
		}
		if g.append(ctx, each, refusalOf(e, d, each.Unrecorded)) == nil {
			each.Unrecorded = 0
		}
		return
	}
}

// digestOf is the digest of a call's arguments, "" where they cannot be read.
func digestOf(input json.RawMessage) (digest string) {
	if value, err := jsonvalue.DecodeStored(input); err == nil {
		digest, _ = jsonvalue.Digest(value)
	}
	return digest
}

func refusalOf(e gate.Event, d gate.Decision, times int) gate.Refusal {
	if times == 1 {
		times = 0
	}
	return gate.Refusal{Client: e.Client, Session: fault.Cut(e.Session, 128), Agent: fault.Cut(e.Agent, 128), Tool: fault.Cut(e.Tool, 200),
		Input: digestOf(e.Input), Step: d.Step, Why: d.Why, Times: times}
}

// attempts is how often a record is tried while other processes write to the run.
const attempts = 4

// append writes the record behind the last one, and follows it.
func (g *Gate) append(ctx context.Context, p *pair, refusal gate.Refusal) error {
	data, err := jsonvalue.Encode(refusal)
	if err != nil {
		return fault.New(fault.Internal, "encoding a refusal: %w", err)
	}
	for range attempts {
		err = g.write(ctx, p.key(), state.Record{Version: p.Mark.Version + 1, Kind: gate.KindRefused, Status: p.Run.Status, Data: data, State: p.Mark.State})
		if err == nil || !errors.Is(err, fault.StateConflict) {
			break
		}
		if err = g.follow(ctx, p); err != nil || !p.Run.Open() {
			break
		}
	}
	if err == nil {
		err = g.follow(ctx, p)
	}
	return err
}

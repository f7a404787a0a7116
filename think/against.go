package think

import (
	"context"
	"strings"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// Comparison says whether a run's answers lead another workflow the same way.
type Comparison struct {
	Workflow string `json:"workflow"`
	RunID    string `json:"run_id"`
	// Release and Digest are those of the other workflow.
	Release string `json:"workflow_version"`
	Digest  string `json:"workflow_digest"`
	// Answers counts those that were replayed the same.
	Answers int    `json:"answers"`
	Verdict string `json:"verdict"`
	// Difference is the first place where the two part.
	Difference *Difference `json:"difference,omitempty"`
}

// The verdicts of a replay.
const (
	verdictIdentical = "identical"
	verdictDiffers   = "differs"
)

// Against replays the recorded answers of a run through another version of its
// workflow, source, and compares every instruction that was answered, what
// became of each answer, and how both stand in the end. What is wrong with
// source is reported as for any workflow file; UNKNOWN_RUN, STATE_CORRUPT.
func (e *Engine) Against(ctx context.Context, workflow, run string, source []byte) (*Comparison, error) {
	key, err := e.locate(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	records, err := e.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	plan, err := planOf(records)
	if err != nil {
		return nil, err
	}
	other, err := e.Library.Parse(plan.Pins[key.Workflow].File, source)
	if err != nil {
		return nil, err
	}
	graph, err := e.Library.Compile(other)
	if err != nil {
		return nil, err
	}
	out := &Comparison{Workflow: key.Workflow, RunID: key.Run, Release: other.Version, Digest: other.Digest, Verdict: verdictIdentical}
	both, err := e.replayBoth(ctx, records, graph)
	if err != nil {
		return nil, err
	}
	if out.Answers, out.Difference = both.answers, both.difference; out.Difference == nil {
		out.Difference = both.compareEnds(records[len(records)-1].Version)
	}
	if out.Difference != nil {
		out.Verdict = verdictDiffers
	}
	return out, nil
}

// divergence replays the answers that made the state after the last of records
// through another graph, and returns the first that does not lead the same way:
// nil when the graph can take the run over from there.
func (e *Engine) divergence(ctx context.Context, records []state.Record, graph *flow.Graph) (*Difference, error) {
	both, err := e.replayBoth(ctx, records, graph)
	if err != nil {
		return nil, err
	}
	return both.difference, nil
}

// pair is one run under two graphs: as it was recorded, and as the other graph
// would have it.
type pair struct {
	past            past
	recorded, other replayed
	// answers counts what both took the same way, before difference.
	answers    int
	difference *Difference
}

func (e *Engine) replayBoth(ctx context.Context, records []state.Record, graph *flow.Graph) (*pair, error) {
	line, err := effective(records)
	if err != nil {
		return nil, err
	}
	plan, err := planOf(line)
	if err != nil {
		return nil, err
	}
	own, err := e.pinned(ctx, plan)
	if err != nil {
		return nil, err
	}
	params, err := graph.Workflow.Bind(plan.Params)
	if err != nil {
		return &pair{difference: &Difference{1, "", "parameters " + shown(plan.Params), fault.From(err).Message()}}, nil
	}
	both := &pair{past: past{records: records}}
	both.recorded.run, both.recorded.now = own.Start(line[0].Run, plan.Params)
	both.other.run, both.other.now = graph.Start(line[0].Run, params)
	for _, record := range line[1:] {
		if err := both.take(ctx, e, record); err != nil || both.difference != nil {
			return both, err
		}
		both.answers++
	}
	return both, nil
}

// planOf reads the plan that records begin with.
func planOf(records []state.Record) (plan planData, err error) {
	if len(records) == 0 || records[0].Kind != kindPlan {
		return plan, fault.New(fault.StateCorrupt, "record 1 is not a plan")
	}
	return plan, decodeData(records[0], &plan)
}

// take gives one recorded answer to both, if both wait for it.
func (p *pair) take(ctx context.Context, e *Engine, record state.Record) (err error) {
	step := EventOf(record).Step
	if p.difference = p.compareIssued(record.Version, step); p.difference != nil {
		return nil
	}
	if p.recorded.now, err = e.apply(ctx, p.past, p.recorded.run, record); err != nil {
		return err
	}
	var refused error
	if p.other.now, refused, err = e.give(ctx, p.past, p.other.run, record); refused != nil {
		p.difference = &Difference{record.Version, step, outcome(p.recorded.now.Rejected), fault.From(refused).Message()}
		return nil
	}
	if err == nil {
		p.difference, err = p.compareTaken(ctx, e, record.Version, step)
	}
	return err
}

// compareIssued compares what was handed out for a step that was answered.
func (p *pair) compareIssued(version int, step string) *Difference {
	mine, theirs := issued(p.recorded.now, step), issued(p.other.now, step)
	if mine == theirs {
		return nil
	}
	if theirs == "" {
		theirs = standing(p.other.now)
	}
	return &Difference{version, step, fault.Cut(mine, maxDifference), fault.Cut(theirs, maxDifference)}
}

// compareTaken compares what became of an answer.
func (p *pair) compareTaken(ctx context.Context, e *Engine, version int, step string) (*Difference, error) {
	if recorded, replayed := outcome(p.recorded.now.Rejected), outcome(p.other.now.Rejected); recorded != replayed {
		return &Difference{version, step, recorded, replayed}, nil
	}
	for _, captured := range p.recorded.now.Change.Vars {
		was, err := e.capture(ctx, p.past, p.recorded.run, captured.Name)
		if err != nil {
			return nil, err
		}
		is, err := e.capture(ctx, p.past, p.other.run, captured.Name)
		if err != nil {
			return nil, err
		}
		if string(was) != string(is) {
			return &Difference{version, step, captured.Name + " = " + fault.Cut(string(was), maxDifference),
				captured.Name + " = " + fault.Cut(string(is), maxDifference)}, nil
		}
	}
	return nil, nil
}

// compareEnds compares where both stand after the last answer.
func (p *pair) compareEnds(version int) *Difference {
	mine, theirs := standing(p.recorded.now), standing(p.other.now)
	if mine == theirs {
		return nil
	}
	return &Difference{Version: version, Recorded: fault.Cut(mine, maxDifference), Replayed: fault.Cut(theirs, maxDifference)}
}

// maxDifference bounds each side of a difference, in bytes.
const maxDifference = 400

// issued describes an instruction that waits for its answer, "" when there is
// none for the step.
func issued(now flow.Outcome, step string) string {
	for _, next := range now.Instructions {
		if next.StepID == step {
			return next.Call + " " + shown(next.Input)
		}
	}
	return ""
}

func outcome(rejected *fault.Error) string {
	if rejected == nil {
		return "accepted"
	}
	return "refused: " + string(rejected.Code)
}

// standing describes what a run waits for, or how it ended.
func standing(now flow.Outcome) string {
	if blocked := now.Blocked; blocked != nil {
		return "blocked: " + string(blocked.Code) + ": " + blocked.Message()
	}
	if final := now.Final; final != nil {
		return final.Outcome + " " + shown(final.Outputs)
	}
	var waiting []string
	for _, next := range now.Instructions {
		waiting = append(waiting, next.StepID+": "+next.Call+" "+shown(next.Input))
	}
	return "waits for " + strings.Join(waiting, "; ")
}

func shown(value any) string { return string(encoded(value)) }

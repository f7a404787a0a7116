package audit

import (
	"context"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// Comparison reports whether a run's answers have the same effect under another workflow.
type Comparison struct {
	Workflow string `json:"workflow"`
	RunID    string `json:"run_id"`
	// Release and Digest identify the other workflow.
	Release string `json:"workflow_version"`
	Digest  string `json:"workflow_digest"`
	// Answers counts the answers that had the same effect.
	Answers int    `json:"answers"`
	Verdict string `json:"verdict"`
	// Difference is the first difference.
	Difference *think.Difference `json:"difference,omitempty"`
}

// The verdicts of a replay.
const (
	verdictIdentical = "identical"
	verdictDiffers   = "differs"
)

// WhatIf replays a run's recorded answers under another version of its workflow,
// source, and compares every answered instruction, the effect of each answer, and the
// final states. Errors in source are reported as for any workflow file; others are
// UNKNOWN_RUN and STATE_CORRUPT.
func (a *Auditor) WhatIf(ctx context.Context, workflow, run string, source []byte) (*Comparison, error) {
	key, err := a.engine.Locate(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	records, err := a.engine.Store.Records(ctx, key, 0, 0)
	if err != nil {
		return nil, err
	}
	began, err := a.engine.Restart(ctx, key, records, nil)
	if err != nil {
		return nil, err
	}
	other, err := a.engine.Library.Parse(began.File(), source)
	if err != nil {
		return nil, err
	}
	graph, err := a.engine.Library.Compile(other)
	if err != nil {
		return nil, err
	}
	out := &Comparison{Workflow: key.Workflow, RunID: key.Run, Release: other.Version, Digest: jsonvalue.SHA256(other.Digest), Verdict: verdictIdentical}
	both, err := a.replayBoth(ctx, key, records, graph)
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

// divergence replays, through another graph, the answers that led to the state after
// the last of records. It returns the first difference; nil means that the run can
// continue under that graph.
func (a *Auditor) divergence(ctx context.Context, key state.Key, records []state.Record, graph *flow.Graph) (*think.Difference, error) {
	both, err := a.replayBoth(ctx, key, records, graph)
	if err != nil {
		return nil, err
	}
	return both.difference, nil
}

// pair is one run under two graphs: the recorded one and the other one.
type pair struct {
	recorded, other *think.Replay
	// answers counts the answers that had the same effect, before difference.
	answers    int
	difference *think.Difference
}

func (a *Auditor) replayBoth(ctx context.Context, key state.Key, records []state.Record, graph *flow.Graph) (both *pair, err error) {
	line, err := think.Effective(records)
	if err != nil {
		return nil, err
	}
	both = &pair{}
	if both.recorded, err = a.engine.Restart(ctx, key, records, nil); err != nil {
		return nil, err
	}
	if both.other, err = a.engine.Restart(ctx, key, records, graph); err != nil {
		both.difference = &think.Difference{Version: 1, Recorded: "parameters " + string(jsonvalue.Encoded(both.recorded.Params())), Replayed: fault.From(err).Message()}
		return both, nil
	}
	for _, record := range think.Decode(line[1:]) {
		if record.Kind == think.KindCancelled {
			break // a cancellation is no answer
		}
		if err := both.take(ctx, record); err != nil || both.difference != nil {
			return both, err
		}
		both.answers++
	}
	return both, nil
}

// take gives one recorded answer to both runs, if both wait for it.
func (p *pair) take(ctx context.Context, record think.Decoded) (err error) {
	step := think.EventOf(record.Record).Step
	if p.difference = p.compareIssued(record.Version, step); p.difference != nil {
		return nil
	}
	if err = p.recorded.Apply(ctx, record); err != nil {
		return err
	}
	refused, err := p.other.Give(ctx, record.Record)
	if refused != nil {
		p.difference = difference(record.Version, step, outcome(p.recorded.Now().Rejected), fault.From(refused).Message())
		return nil
	}
	if err == nil {
		p.difference, err = p.compareTaken(ctx, record.Version, step)
	}
	return err
}

func difference(version int, step, recorded, replayed string) *think.Difference {
	return &think.Difference{Version: version, Step: step, Recorded: recorded, Replayed: replayed}
}

// compareIssued compares the instructions of an answered step.
func (p *pair) compareIssued(version int, step string) *think.Difference {
	mine, theirs := issued(p.recorded.Now(), step), issued(p.other.Now(), step)
	if mine == theirs {
		return nil
	}
	if theirs == "" {
		theirs = describeState(p.other.Now())
	}
	return difference(version, step, fault.Cut(mine, maxDifference), fault.Cut(theirs, maxDifference))
}

// compareTaken compares the effects of an answer.
func (p *pair) compareTaken(ctx context.Context, version int, step string) (*think.Difference, error) {
	if recorded, replayed := outcome(p.recorded.Now().Rejected), outcome(p.other.Now().Rejected); recorded != replayed {
		return difference(version, step, recorded, replayed), nil
	}
	for _, captured := range p.recorded.Now().Change.Vars {
		was, err := p.recorded.Capture(ctx, captured.Name)
		if err != nil {
			return nil, err
		}
		is, err := p.other.Capture(ctx, captured.Name)
		if err != nil {
			return nil, err
		}
		if string(was) != string(is) {
			return difference(version, step, captured.Name+" = "+fault.Cut(string(was), maxDifference),
				captured.Name+" = "+fault.Cut(string(is), maxDifference)), nil
		}
	}
	return nil, nil
}

// compareEnds compares the states of both runs after the last answer.
func (p *pair) compareEnds(version int) *think.Difference {
	mine, theirs := describeState(p.recorded.Now()), describeState(p.other.Now())
	if mine == theirs {
		return nil
	}
	return &think.Difference{Version: version, Recorded: fault.Cut(mine, maxDifference), Replayed: fault.Cut(theirs, maxDifference)}
}

// maxDifference bounds each side of a difference, in bytes.
const maxDifference = 400

// issued describes the outstanding instruction of a step, or is "".
func issued(now flow.Outcome, step string) string {
	for _, next := range now.Instructions {
		if next.StepID == step {
			return next.Call + " " + string(jsonvalue.Encoded(next.Input))
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

// describeState describes what a run waits for, or how it ended.
func describeState(now flow.Outcome) string {
	if blocked := now.Blocked; blocked != nil {
		return "blocked: " + string(blocked.Code) + ": " + blocked.Message()
	}
	if final := now.Final; final != nil {
		return final.Outcome + " " + string(jsonvalue.Encoded(final.Outputs))
	}
	var waiting []string
	for _, next := range now.Instructions {
		waiting = append(waiting, next.StepID+": "+next.Call+" "+string(jsonvalue.Encoded(next.Input)))
	}
	return "waits for " + strings.Join(waiting, "; ")
}

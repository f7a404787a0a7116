package workflow

import (
	"context"
	"errors"
	"time"

	"savant/engines/guide"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/flow"
)

// workers execute the instructions of one drive, each on its own goroutine: Think
// issues no more than the workflow's limits.parallel.
type workers struct {
	drive *drive
	busy  map[string]task     // by step
	left  map[string]handOver // steps for somebody else
	done  chan finished
}

// task is an instruction in execution.
type task struct {
	attempt int
	cancel  context.CancelFunc
}

// handOver says why a step is for somebody else, and for whom.
type handOver struct{ whom, why string }

// finished is an instruction with its result.
type finished struct {
	next flow.Instruction
	result
	elapsed time.Duration
}

func newWorkers(v *drive) *workers {
	return &workers{drive: v, busy: map[string]task{}, left: map[string]handOver{}, done: make(chan finished)}
}

// follow starts outstanding instructions and cancels those that are no longer
// outstanding, because somebody else answered them or the run was reset.
func (w *workers) follow(outstanding []flow.Instruction) {
	wanted := map[string]int{}
	for _, next := range outstanding {
		wanted[next.StepID] = next.Attempt
		_, busy := w.busy[next.StepID]
		_, left := w.left[next.StepID]
		if !busy && !left && !person(next) {
			w.begin(next)
		}
	}
	for step, each := range w.busy {
		if wanted[step] != each.attempt {
			each.cancel()
		}
	}
}

func (w *workers) begin(next flow.Instruction) {
	ctx, cancel := context.WithCancel(w.drive.ctx)
	w.busy[next.StepID] = task{next.Attempt, cancel}
	go func() {
		defer cancel()
		w.done <- w.drive.attempt(ctx, next)
	}()
}

// stop cancels all calls and waits for them. Results of completed calls are handed in,
// so that the calls are not repeated.
func (w *workers) stop() {
	for _, each := range w.busy {
		each.cancel()
	}
	for range len(w.busy) {
		done := <-w.done
		if done.void || done.left != nil {
			continue
		}
		if _, _, err := w.drive.give(done); err != nil {
			w.drive.driver.Logger.Warn("a result came too late", "run", w.drive.at.RunID, "step", done.next.StepID, "error", err)
		}
	}
	clear(w.busy)
}

// give hands a result to Think. refused is what was wrong with the result; elsewhere is
// set if only somebody else may answer the step. After an error the drive cannot
// continue.
func (v *drive) give(done finished) (refused *fault.Error, elsewhere *handOver, err error) {
	ctx := context.WithoutCancel(v.ctx) // completed work must be recorded
	in := think.NextInput{Workflow: v.at.Workflow, RunID: v.at.RunID, StepID: done.next.StepID, Attempt: done.next.Attempt, Warnings: done.warnings, Caller: guide.Caller(v.call)}
	if used := jsonvalue.Encoded(done.used); string(used) != "{}" {
		in.Used = used
	}
	if in.ResultRef = done.receipt; in.ResultRef != "" {
		_, err = v.driver.Think.Next(ctx, in)
	}
	if in.ResultRef == "" || errors.Is(err, fault.NotWitnessed) {
		in.ResultRef, in.ResultSnapshot = "", done.snapshot
		_, err = v.driver.Think.Next(ctx, in)
	}
	if err == nil {
		v.warn(done.next.StepID, done.warnings)
		return nil, nil, nil
	}
	coded := fault.From(err)
	if _, recorded := coded.Extra["state"]; recorded {
		v.warn(done.next.StepID, done.warnings)
		return coded, nil, nil
	}
	if coded.Code == fault.NotWitnessed {
		return nil, &handOver{ForModel, coded.Error()}, nil
	}
	return nil, nil, v.overtaken(ctx, done.next, err)
}

// overtaken returns nil if the result was refused because the run has moved on
// meanwhile, else the error.
func (v *drive) overtaken(ctx context.Context, next flow.Instruction, err error) error {
	if errors.Is(err, fault.StateConflict) {
		return fault.New(fault.StateConflict, "another program drives run %s, too: %w", v.at.RunID, err)
	}
	at, failed := v.position(ctx)
	if failed != nil {
		return failed
	}
	if at.Blocked != nil || at.Final != nil {
		return nil
	}
	for _, each := range at.Outstanding {
		if each.StepID == next.StepID && each.Attempt == next.Attempt {
			return err
		}
	}
	return nil
}

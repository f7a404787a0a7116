package think

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/think/flow"
	"savant/think/state"
)

// ResetInput names the checkpoint that a run returns to.
type ResetInput struct {
	Workflow   string `json:"workflow,omitempty"`
	RunID      string `json:"run_id,omitempty" example:"r1"`
	Checkpoint string `json:"checkpoint,omitempty" doc:"a version (v3), a step id (before its answer), a saved name, or start" example:"start"`
	Save       string `json:"save,omitempty" doc:"instead: the name of a new one"`
	// Caller makes the call, see NextInput.
	Caller Caller `json:"-"`
	Force  bool   `json:"force,omitempty" doc:"reset a finished run too; without checkpoint: move the run to the trash"`
}

// ResetOutput is the state after a reset, with the issued instructions.
type ResetOutput struct {
	OK          bool         `json:"ok"`
	State       delta        `json:"state"`
	Instruction *Instruction `json:"instruction,omitempty"`
	// The rest is as in a Reply.
	Instructions []Instruction              `json:"instructions,omitempty"`
	Schemas      map[string]json.RawMessage `json:"schemas,omitempty"`
	Outstanding  []string                   `json:"outstanding,omitempty"`
	Note         string                     `json:"note,omitempty"`
	Checkpoint   string                     `json:"checkpoint,omitempty"`
}

// Reset takes a run back to a checkpoint. It erases nothing: the reset is a new record.
// CHECKPOINT_NOT_FOUND; INVALID_PARAMS; RESET_NOT_ALLOWED for a finished run, a whole run
// or an unknown outcome, without force; RUN_CANCELLED; UNKNOWN_RUN.
func (e *Engine) Reset(ctx context.Context, in ResetInput) (*ResetOutput, error) {
	if in.RunID == "" && in.Checkpoint == "" && in.Save == "" {
		return nil, fault.New(fault.InvalidParams, "name a checkpoint (start, v2, a step id); to move a whole run to the trash, name it by run_id, with force")
	}
	meant, err := e.targetOf(ctx, in.Caller, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	if meant.ended {
		return nil, e.ownsNone(ctx, in.Caller, in.Workflow)
	}
	in.Workflow, in.RunID = meant.key.Workflow, meant.key.Run
	out, err := e.reset(ctx, in)
	return out, withRunID(meant.id(), err)
}

func (e *Engine) reset(ctx context.Context, in ResetInput) (*ResetOutput, error) {
	l, err := e.open(ctx, in.Workflow, in.RunID)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	if in.Save != "" && in.Checkpoint != "" {
		return nil, fault.New(fault.InvalidParams, "save and checkpoint are two calls: first save the present state, then go back").With(
			fault.Diagnostic{Path: "save", Message: "given with checkpoint"})
	}
	if in.Save != "" {
		return e.saveCheckpoint(ctx, l, in.Save)
	}
	if in.Checkpoint == "" {
		return e.discard(ctx, l, in.Force)
	}
	if err := l.run.Cancelled(); err != nil {
		return nil, err
	}
	if l.now.Final != nil && !in.Force {
		return nil, fault.New(fault.ResetNotAllowed, "run %q is %s; pass force to reopen it", l.key.Run, l.now.Status)
	}
	records, err := e.Store.Records(ctx, l.key, 0, 0)
	if err != nil {
		return nil, err
	}
	to, err := e.VersionOf(ctx, l.key, records, in.Checkpoint)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(l.now.Instructions, func(next flow.Instruction) bool { return next.Outcome != "" })
	if at >= 0 && to < l.now.Version && !in.Force {
		return nil, fault.New(fault.ResetNotAllowed, "it is not known whether the last call of step %q had an effect: say so first; pass force to issue it anew all the same", l.now.Instructions[at].StepID)
	}
	return e.resetTo(ctx, l, records, to, in)
}

// discard moves the whole run to the trash.
func (e *Engine) discard(ctx context.Context, l *live, force bool) (*ResetOutput, error) {
	if !force {
		return nil, fault.New(fault.ResetNotAllowed, "name a checkpoint (start, v2, a step id, or one of think.state.get), or pass force to move the whole run to the trash")
	}
	out := &ResetOutput{OK: true, State: delta{RunID: l.key.Run, Status: "deleted", Vars: map[string]json.RawMessage{}, Steps: map[string]flow.StepStatus{}}}
	e.projects.drop(l.key)
	if err := e.Store.Delete(ctx, l.key); err != nil {
		return nil, err
	}
	l.forget()
	e.forgetWorkflow(l.key.Run)
	return out, nil
}

func (e *Engine) saveCheckpoint(ctx context.Context, l *live, name string) (*ResetOutput, error) {
	if _, ok := versionOf(name); ok || name == "start" {
		return nil, fault.New(fault.InvalidParams, "%q is the name of a built-in checkpoint; choose another name", name)
	}
	snapshot, err := e.snapshotOf(ctx, l)
	if err != nil {
		return nil, err
	}
	if err := e.Store.Save(ctx, l.key, name, snapshot); err != nil {
		return nil, err
	}
	e.project(ctx, l, true)
	return &ResetOutput{OK: true, Checkpoint: name, State: composeReply(l.now, changes, false, nil).Reply.State}, nil
}

func versionOf(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "v")
	if !ok {
		return 0, false
	}
	version, err := strconv.Atoi(digits)
	return version, err == nil && version > 0
}

// VersionOf resolves the name of a checkpoint to a version, see ResetInput:
// CHECKPOINT_NOT_FOUND; UNKNOWN_STEP for a step in another spelling than its own.
func (e *Engine) VersionOf(ctx context.Context, key state.Key, records []state.Record, name string) (int, error) {
	if name == "start" {
		return 1, nil
	}
	if version, ok := versionOf(name); ok && name == "v"+strconv.Itoa(version) {
		if version > len(records) {
			return 0, fault.New(fault.CheckpointNotFound, "run %q is at v%d; there is no v%d", key.Run, len(records), version)
		}
		return version, nil
	}
	saved, err := e.Store.Load(ctx, key, name)
	if err == nil {
		return saved.Version, nil
	}
	if !errors.Is(err, fault.CheckpointNotFound) && !errors.Is(err, fault.InvalidParams) {
		return 0, err
	}
	replayed, err := e.replay(ctx, key, records, 0)
	if err != nil {
		return 0, err
	}
	view := replayed.run.View()
	if step, err := view.RecordedStep(name); err == nil {
		if _, err := view.Step(name); err != nil {
			return 0, err // in another spelling
		}
		line, err := Effective(records)
		if err != nil {
			return 0, err
		}
		previous := 1
		for _, record := range line {
			if handle, err := view.RecordedStep(EventOf(record).Step); err == nil && handle.ID() == step.ID() {
				return previous, nil
			}
			previous = record.Version
		}
	}
	return 0, fault.New(fault.CheckpointNotFound, "run %q has no checkpoint %q: use start, v1 to v%d or the id of an answered step", key.Run, fault.Cut(name, 120), len(records)).
		Hinted(fault.Hint{Call: "think.state.get", Text: "lists the saved ones"})
}

func (e *Engine) resetTo(ctx context.Context, l *live, records []state.Record, to int, in ResetInput) (*ResetOutput, error) {
	history, err := e.replay(ctx, l.key, records, to)
	if err != nil {
		return nil, err
	}
	history.run.SkipTo(len(records) + 1)
	if history.now, err = e.proceed(ctx, l.history(), history.run, history.run.Proceed()); err != nil {
		return nil, err
	}
	history.now.Change = flow.Change{}
	out := composeReply(history.now, everything, e.drifted(history.plan.Pins), nil).Reply
	record, err := e.write(ctx, l.key, KindReset, history.now, e.Now(), resetData{To: to, Name: in.Checkpoint, attribution: in.Caller.attribution(), Reply: reply{Reply: out}})
	if err != nil {
		l.forget()
		return nil, err
	}
	l.takeOver(history, append(records, record))
	e.project(ctx, l, true)
	return &ResetOutput{OK: true, State: out.State, Instruction: out.Instruction, Instructions: out.Instructions,
		Schemas: out.Schemas, Outstanding: out.Outstanding, Note: out.Note}, nil
}

package maintenance

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/state"
)

// Check returns what is wrong with the files of a run: those that the store
// knows, and the artifacts that its records name. It changes nothing.
// UNKNOWN_RUN.
func (k *Keeper) Check(ctx context.Context, key state.Key) ([]state.Problem, error) {
	problems, err := k.dir.Check(ctx, key)
	if err != nil || slices.ContainsFunc(problems, func(p state.Problem) bool { return p.Blocking }) {
		return problems, err
	}
	lost, err := k.lostArtifacts(ctx, key)
	if errors.Is(err, fault.StateCorrupt) {
		return append(problems, state.Problem{File: key.String(), Message: fault.From(err).Message(), Blocking: true}), nil
	}
	for _, each := range lost {
		problems = append(problems, each.problem())
	}
	return problems, err
}

// Repaired lists what a repair restored, and what is permanently lost.
type Repaired struct {
	// Version is the latest version now; 0 if the run has no complete record and is
	// lost.
	Version int `json:"version"`
	// Lost are the known records after that version.
	Lost []LostRecord `json:"lost"`
	// Unlisted counts the further records, whose content is unknown.
	Unlisted int `json:"unlisted,omitempty"`
	// Restored are the files that were recomputed.
	Restored []string `json:"restored"`
	// Kept are the folders of the trash that have the damaged files.
	Kept []string `json:"kept"`
	// Remaining is what could not be repaired.
	Remaining []state.Problem `json:"remaining"`
}

// LostRecord is a record that a repair left behind. Only Version is known of
// one that cannot be read.
type LostRecord struct {
	Version int    `json:"version"`
	Kind    string `json:"kind,omitempty"`
	Step    string `json:"step,omitempty"`
	Time    string `json:"time,omitempty"`
}

// Repair takes a run back to its last good version: it recomputes what it can, drops
// the rest, and keeps every damaged file in the trash. Other runs are not touched.
// Files of a newer format are left unchanged: STATE_CORRUPT wrapping
// state.ErrNewerFormat. UNKNOWN_RUN.
func (k *Keeper) Repair(ctx context.Context, key state.Key) (*Repaired, error) {
	r := &repair{Keeper: k, key: key, out: &Repaired{Lost: []LostRecord{}, Restored: []string{}, Kept: []string{}, Remaining: []state.Problem{}}}
	if err := k.engine.Alone(key, func() error { return r.run(ctx) }); err != nil {
		return nil, err
	}
	if r.out.Version == 0 {
		return r.out, nil
	}
	_ = k.engine.Project(ctx, key) // the check reports remaining problems
	remaining, err := k.Check(ctx, key)
	r.out.Remaining = remaining
	return r.out, err
}

// repair is one Repair under way.
type repair struct {
	*Keeper
	key         state.Key
	out         *Repaired
	checkpoints []state.CheckpointInfo
}

func (r *repair) run(ctx context.Context) error {
	for upTo := 0; ; {
		if err := r.cut(ctx, upTo); err != nil || r.out.Version == 0 {
			return err
		}
		lost, err := r.lostArtifacts(ctx, r.key)
		if err != nil {
			return err
		}
		again, err := r.restore(ctx, lost)
		if err != nil {
			return err
		}
		if again < 1 {
			break
		}
		upTo = again
	}
	return r.remakeCheckpoints(ctx)
}

// cut lets the store repair the files, up to a version unless it is 0.
func (r *repair) cut(ctx context.Context, upTo int) error {
	made, err := r.dir.Repair(ctx, r.key, upTo)
	if err != nil {
		return err
	}
	r.out.Version = made.Version
	if made.Kept != "" {
		r.out.Kept = append(r.out.Kept, made.Kept)
	}
	r.out.Unlisted += made.Unlisted
	r.checkpoints = append(r.checkpoints, made.Checkpoints...)
	for _, each := range made.Lost {
		r.out.Lost = append(r.out.Lost, LostRecord{each.Version, each.Kind, think.EventOf(each).Step, each.Time})
	}
	slices.SortFunc(r.out.Lost, func(a, b LostRecord) int { return cmp.Compare(a.Version, b.Version) })
	return nil
}

// restore makes lost artifacts again. It returns the version to which the run
// has to be cut because of one that cannot be, 0 for none.
func (r *repair) restore(ctx context.Context, lost []lostArtifact) (upTo int, err error) {
	for _, each := range lost {
		data, err := r.again(ctx, each)
		if err != nil {
			return 0, err
		}
		if data == nil && each.Kind == stepResult && each.blocking {
			return each.Version - 1, r.setAside(ctx, each.Digest)
		}
		if data == nil {
			continue
		}
		if err := r.setAside(ctx, each.Digest); err != nil {
			return 0, err
		}
		if _, err := r.dir.PutArtifact(ctx, data); err != nil {
			return 0, err
		}
		r.out.Restored = append(r.out.Restored, state.ArtifactFile(each.Digest))
	}
	return 0, nil
}

// again returns the content of a lost artifact where something still has it,
// else nil: the library a workflow, a replay an artifact of the run.
func (r *repair) again(ctx context.Context, lost lostArtifact) ([]byte, error) {
	switch lost.Kind {
	case workflowSource:
		return r.engine.Library.Source(lost.Name, lost.Digest), nil
	case namedSchemaText:
		if now, err := r.engine.Library.NamedSchemas(); err == nil && now.Digest == lost.Digest {
			return now.Text, nil
		}
		return nil, nil
	case finalArtifact:
		return r.replayArtifact(ctx, lost.reference)
	default:
		return nil, nil
	}
}

func (r *repair) replayArtifact(ctx context.Context, wanted reference) ([]byte, error) {
	records, err := r.dir.Records(ctx, r.key, 0, 0)
	if err != nil {
		return nil, err
	}
	past, err := r.engine.Replay(ctx, r.key, records, wanted.Version)
	if err != nil || past.Now().Final == nil {
		return nil, nil // the check reports its problems
	}
	for _, each := range past.Now().Final.Artifacts {
		if jsonvalue.HexSum(each.Data) == wanted.Digest {
			return each.Data, nil
		}
	}
	return nil, nil
}

// setAside keeps a changed artifact in the trash.
func (r *repair) setAside(ctx context.Context, digest string) error {
	kept, err := r.dir.Quarantine(ctx, digest)
	if kept != "" {
		r.out.Kept = append(r.out.Kept, kept)
	}
	return err
}

// remakeCheckpoints makes again those whose version is known.
func (r *repair) remakeCheckpoints(ctx context.Context) error {
	for _, each := range r.checkpoints {
		if each.Version > r.out.Version {
			continue
		}
		if err := r.engine.CheckpointAt(ctx, r.key, each.Name, each.Version); err != nil {
			return err
		}
		r.out.Restored = append(r.out.Restored, "checkpoint "+each.Name)
	}
	return nil
}

// OnDamage returns what to do about a damaged run of a workflow, or the zero Hint for
// other errors. A record of a newer version is not damage.
func OnDamage(failure *fault.Error) fault.Hint {
	if failure.Code != fault.StateCorrupt || errors.Is(failure, state.ErrNewerFormat) {
		return fault.Hint{}
	}
	return fault.Hint{Call: "savant state check",
		Text: "says what is wrong, and savant state check --repair takes a run back to its last good version"}
}

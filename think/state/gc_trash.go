package state

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"time"

	"savant/fault"
)

// Trashed is one folder of the trash.
type Trashed struct {
	// Folder is relative to SAVANT_PATH.
	Folder string `json:"folder"`
	// Workflow and Run name the run that Undelete can bring back; they are
	// empty for what a repair or an interrupted deletion put there.
	Workflow string `json:"workflow,omitempty"`
	Run      string `json:"run_id,omitempty"`
	// Moved is when, in RFC 3339.
	Moved string `json:"moved"`
}

// Trash lists the trash, the newest first.
func (d *Dir) Trash(ctx context.Context) ([]Trashed, error) {
	names, err := namesIn(d.disk, trashFolder)
	if err != nil && !missing(err) {
		return nil, notRead(trashFolder, err)
	}
	found := []Trashed{}
	for _, name := range slices.Backward(names) {
		if ctx.Err() != nil {
			return nil, interrupted(ctx, trashFolder)
		}
		moved, err := time.Parse(trashDate, name[:min(len(name), len(trashDate))])
		if err != nil {
			continue // not of this store
		}
		item := Trashed{Folder: path.Join(trashFolder, name), Moved: moved.Format(time.RFC3339)}
		item.Workflow, item.Run = d.trashedRun(item.Folder)
		found = append(found, item)
	}
	return found, nil
}

// trashedRun returns the run whose journal a folder of the trash holds.
func (d *Dir) trashedRun(folder string) (workflow, run string) {
	names, err := namesIn(d.disk, folder)
	if err != nil {
		return "", ""
	}
	for _, base := range withSuffix(names, journalSuffix) {
		if head, err := readHead(d.disk, path.Join(folder, base+journalSuffix)); err == nil && head.Run == base {
			return head.Workflow, head.Run
		}
	}
	return "", ""
}

// GCTrash permanently erases a folder of the trash. It removes the journal first, so
// that an interrupted call cannot leave a partially restorable run.
func (d *Dir) GCTrash(_ context.Context, item Trashed) error {
	if path.Dir(item.Folder) != trashFolder {
		return fault.New(fault.InvalidParams, "%q is not a folder of the trash", fault.Cut(item.Folder, 300))
	}
	if item.Run != "" {
		name := path.Join(item.Folder, item.Run+journalSuffix)
		if err := d.disk.Remove(name); err != nil && !missing(err) {
			return notSaved(name, err)
		}
	}
	return d.erase(item.Folder)
}

// erase removes a file, or a folder with all that it holds.
func (d *Dir) erase(name string) error {
	below, _ := d.disk.Entries(name) // none of a file
	for _, each := range below {
		if err := d.erase(path.Join(name, each.name)); err != nil {
			return err
		}
	}
	if err := d.disk.Remove(name); err != nil && !missing(err) {
		return notSaved(name, err)
	}
	return nil
}

// emptyAge is how long an empty folder of the trash may be about to be filled.
const emptyAge = time.Hour

// FinishMoves finishes what a Delete or an Undelete began whose process was killed:
// the files of a run go where its journal is, which is in the trash. It also removes
// the empty journal that an Undelete left, and folders of the trash that were never
// filled. It returns the runs that it moved.
func (d *Dir) FinishMoves(ctx context.Context) ([]Key, error) {
	workflows, err := d.workflows("")
	if err != nil {
		return nil, err
	}
	var finished []Key
	for _, workflow := range workflows {
		keys, err := d.unfinished(workflow)
		if err != nil {
			return finished, err
		}
		for _, key := range keys {
			if ctx.Err() != nil {
				return finished, interrupted(ctx, runsFolder(workflow))
			}
			done, err := d.finishMove(ctx, key)
			if err != nil {
				return finished, err
			}
			if done {
				finished = append(finished, key)
			}
		}
	}
	return finished, d.removeEmptyTrash()
}

// unfinished returns the runs of a workflow with files but no record, including runs of
// which only the workflow's latest projection is left.
func (d *Dir) unfinished(workflow string) ([]Key, error) {
	folder := runsFolder(workflow)
	entries, err := d.disk.Entries(folder)
	if err != nil && !absent(err) {
		return nil, notRead(folder, err)
	}
	runs, alive := map[string]bool{}, map[string]bool{}
	for _, each := range entries {
		for _, suffix := range []string{jsonSuffix, checkpointSuffix, journalSuffix} {
			run, ok := cutSuffix(each.name, suffix)
			if !ok {
				continue
			}
			runs[run] = true
			alive[run] = alive[run] || suffix == journalSuffix && each.stat.size > 0
		}
	}
	var latest struct{ Run string }
	if text, err := readAll(d.disk, latestName(workflow)); err == nil && json.Unmarshal(text, &latest) == nil && latest.Run != "" {
		runs[latest.Run] = true
	}
	var keys []Key
	for run := range runs {
		if key := (Key{workflow, run}); !alive[run] && key.Validate() == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int { return cmp.Compare(a.Run, b.Run) })
	return keys, nil
}

// finishMove moves the remaining files of a run to the trash folder of its journal. A
// run without any journal is damaged, and left to a check.
func (d *Dir) finishMove(ctx context.Context, key Key) (done bool, err error) {
	folder, err := d.findTrash(key)
	if errors.Is(err, fault.UnknownRun) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = d.with(ctx, key, creating, func(j *runJournal) error {
		if len(j.verified.chain) > 0 {
			return nil // a new run has the name
		}
		if err := d.moveProjections(key, runsFolder(key.Workflow), folder); err != nil {
			return err
		}
		if err := d.disk.Remove(j.name); err != nil && !missing(err) { // it has no record
			return notSaved(j.name, err)
		}
		j.closeAndInvalidate()
		done = true
		return d.dropLatest(key)
	})
	return done, err
}

func (d *Dir) removeEmptyTrash() error {
	names, err := namesIn(d.disk, trashFolder)
	if err != nil && !missing(err) {
		return notRead(trashFolder, err)
	}
	for _, name := range names {
		moved, err := time.Parse(trashDate, name[:min(len(name), len(trashDate))])
		if err != nil || d.options.Now().Sub(moved) < emptyAge {
			continue
		}
		folder := path.Join(trashFolder, name)
		if inside, err := d.disk.Entries(folder); err == nil && len(inside) == 0 {
			_ = d.disk.Remove(folder) // fails if the folder was filled meanwhile
		}
	}
	return nil
}

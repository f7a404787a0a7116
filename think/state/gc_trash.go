package state

import (
	"context"
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
	Run      string `json:"run,omitempty"`
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

// GCTrash erases a folder of the trash for good. Its journal goes first: after
// an interruption nothing can bring back a part of the run.
func (d *Dir) GCTrash(item Trashed) error {
	if path.Dir(item.Folder) != trashFolder {
		return fault.New(fault.InvalidParams, "%q is no folder of the trash", fault.Cut(item.Folder, 300))
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

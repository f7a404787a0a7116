// Package clientsetup adds Savant to the configuration of MCP clients: the server, and
// the hooks that enforce a run; and its language server to that of editors. It preserves all other content.
package clientsetup

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/configedit"
	"savant/internal/ownfolder"
)

// Services is the MCP_SERVICE that a set-up writes: what the bundled workflows call.
const Services = "think,git,context,ci,review,agent"

// Target configures a set-up.
type Target struct {
	// Program is the absolute path of Savant: a client started from the desktop often
	// has another PATH than a shell.
	Program string
	// Service is the server's MCP_SERVICE.
	Service string
	// Home is the person's home folder.
	Home string
	// Project is the folder whose configuration is written; empty for the person's own.
	Project string
	// Folder is the server's SAVANT_PATH for a client without projects; it may be empty.
	Folder string
	// Root stands before the paths of the administrator's files; "" is the machine's.
	Root string
	// OS is the operating system, in Go's names.
	OS string
	// Variable looks up an environment variable.
	Variable func(string) (string, bool)
}

// Change is the change of one file.
type Change struct {
	Path          string
	Before, After []byte
	// Existed is false for a created file; Gone is true for a removed one.
	Existed, Gone bool
	// Generated: the content is the program's own, such as a schema.
	Generated bool
	// Target is where the links on the path lead; it is Path if there are none.
	Target  string
	mode    fs.FileMode
	project string // the folder, without links, that the change stays in; "" for none
	alone   bool   // Savant writes the whole file, in a folder of its own
}

// Changed reports whether the file changes.
func (c Change) Changed() bool { return c.Gone || !bytes.Equal(c.Before, c.After) }

// Setup returns the changes of the client's files without writing them. INVALID_PARAMS
// for a file that cannot be read or written, for a link that leads out of the project, and
// for a project if the client has no project configuration.
func (c Client) Setup(t Target) ([]Change, error) {
	return c.changes(t, func(w wantedFile, now Change) (Change, error) {
		if w.whole != "" {
			if now.Existed && !w.isOwn(t, now.Before) {
				return now, refused(now.Path, fault.New(fault.InvalidParams, "Savant did not write this file; move it away"))
			}
			now.After = []byte(w.whole)
			return now, nil
		}
		entries := slices.Clone(w.entries)
		for i, each := range entries { // what a person or the client added to Savant's own server stays
			value, _, _ := configedit.Get(now.Before, w.format, each.Path) // Set reports an error
			entries[i].Merge = each.Own == nil && isServer(value)
		}
		made, err := configedit.Set(now.Before, w.format, entries)
		if err != nil {
			return now, refused(now.Path, err)
		}
		now.After = made
		return now, nil
	})
}

// Undo returns the changes that remove Savant's entries. A file that Setup created and
// nobody changed since is removed; one that Setup changed gets the bytes back that it had
// before it had any entry of Savant's.
// The errors are those of Setup.
func (c Client) Undo(t Target) ([]Change, error) {
	return c.changes(t, func(w wantedFile, now Change) (Change, error) {
		if !now.Existed {
			return now, nil
		}
		if w.whole != "" {
			now.Gone = w.isOwn(t, now.Before)
			return now, nil
		}
		var earlier [][]byte
		for _, name := range backups(now.Target) {
			if saved, err := text(name, maxOwn); err == nil && !w.hasOwn(saved) {
				earlier = append(earlier, saved)
			}
		}
		if made, err := w.fresh(); err == nil && bytes.Equal(made, now.Before) && len(earlier) == 0 {
			now.Gone = true
			return now, nil
		}
		var last []byte
		if len(earlier) > 0 {
			last = earlier[len(earlier)-1]
		}
		without, err := configedit.Remove(now.Before, w.format, w.entries, last)
		if err != nil {
			return now, refused(now.Path, err)
		}
		now.After = without
		if len(earlier) == 0 && now.Changed() && slices.Contains([]string{"", "{}"}, string(bytes.TrimSpace(without))) {
			now.Gone = true // a file that was there before a set-up has its bytes beside it
			return now, nil
		}
		for _, saved := range slices.Backward(earlier) {
			if made, err := configedit.Set(saved, w.format, w.entries); err == nil && bytes.Equal(made, now.Before) && !bytes.Equal(saved, now.Before) {
				now.After = saved
				break
			}
		}
		return now, nil
	})
}

func (c Client) changes(t Target, become func(wantedFile, Change) (Change, error)) ([]Change, error) {
	files, err := c.wantedFiles(t)
	if err != nil {
		return nil, err
	}
	project, err := t.realProject()
	if err != nil {
		return nil, err
	}
	var list []Change
	for _, w := range files {
		now, err := read(w.path, project)
		if err != nil {
			return nil, err
		}
		now.Generated = w.generated
		if now, err = become(w, now); err != nil {
			return nil, err
		}
		if now.Changed() && now.Existed && now.mode&0o200 == 0 {
			return nil, refused(now.Path, fault.New(fault.InvalidParams, "the file is read-only"))
		}
		list = append(list, now)
	}
	return list, nil
}

// realProject is the project's folder without links, "" for none.
func (t Target) realProject() (string, error) {
	if t.Project == "" {
		return "", nil
	}
	project, err := filepath.EvalSymlinks(t.Project)
	if err != nil {
		return "", fault.New(fault.InvalidParams, "the project's folder: %w", err)
	}
	return project, nil
}

func refused(path string, err error) error {
	failure := fault.From(err)
	return fault.New(failure.Code, "%s: %s; nothing was changed", path, failure.Details)
}

// Apply writes each change atomically, keeping the file's mode, following links as Setup
// does, and saving a backup next to the file. It stops with STATE_CONFLICT if a file changed since
// it was read. If one cannot be written, those before it get their earlier content back: a server
// without its hooks would hold nobody.
func Apply(changes []Change, now time.Time) error {
	for i, change := range changes {
		if !change.Changed() {
			continue
		}
		err := change.apply(now)
		if err == nil {
			continue
		}
		if failed := restore(changes[:i], now); failed != nil {
			return fault.New(fault.StateNotSaved, "%s; what was written before it stays, since %s", fault.From(err).Details, fault.From(failed).Details)
		}
		return err
	}
	return nil
}

// restore takes changes back, the last one first, as far as it can.
func restore(changes []Change, now time.Time) (failed error) {
	for _, each := range slices.Backward(changes) {
		if each.Changed() {
			back := each // alone: without another backup
			back.Before, back.After, back.Existed, back.Gone, back.alone = each.After, each.Before, !each.Gone, !each.Existed, each.Existed
			failed = cmp.Or(failed, back.apply(now))
		}
	}
	return failed
}

func (c Change) apply(now time.Time) error {
	latest, err := read(c.Path, c.project)
	if err != nil {
		return err
	}
	if latest.Existed != c.Existed || latest.Target != c.Target || !bytes.Equal(latest.Before, c.Before) {
		return fault.New(fault.StateConflict, "%s changed while the command ran; run the command again", c.Path)
	}
	if c.project == "" {
		if err := os.MkdirAll(filepath.Dir(c.Target), 0o755); err != nil {
			return c.notSaved(err)
		}
	}
	root, name, err := c.root()
	if err != nil {
		return c.notSaved(err)
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return c.notSaved(err)
	}
	if c.Existed && !c.Gone && !c.alone {
		if err := atomicfile.Write(root, name+".savant-"+now.UTC().Format(stamp)+".bak", c.Before, c.mode); err != nil {
			return c.notSaved(err)
		}
	}
	if c.Gone {
		err = root.Remove(name)
	} else {
		err = atomicfile.Write(root, name, c.After, c.mode)
	}
	if err != nil {
		return c.notSaved(err)
	}
	if c.Gone && c.alone {
		_ = os.Remove(filepath.Dir(c.Target)) // it stays if somebody put something there
	}
	return nil
}

func (c Change) notSaved(err error) error {
	advice := cmp.Or(ownfolder.AdviceOn(err), "you need the right to write there")
	return fault.New(fault.StateNotSaved, "%s was not written: %w", c.Path, ownfolder.Reason(err)).Hinted(fault.Hint{Text: advice + "; nothing was changed"})
}

// Package clientsetup adds Savant to the configuration of MCP clients: the server, and
// the hooks that enforce a run. It preserves all other content.
package clientsetup

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/configedit"
)

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
	mode          fs.FileMode
	target        string // the target of a symbolic link
}

// Changed reports whether the file changes.
func (c Change) Changed() bool { return c.Gone || !bytes.Equal(c.Before, c.After) }

// maxFile bounds a configuration file, in bytes. Claude Code's is large.
const maxFile = 64 << 20

// Setup returns the changes of the client's files without writing them. INVALID_PARAMS
// for a file that cannot be read or written, and for a project if the client has no
// project configuration.
func (c Client) Setup(t Target) ([]Change, error) {
	return c.changes(t, func(w wanted, now Change) (Change, error) {
		if w.whole != "" {
			if now.Existed && !w.isOwn(t, now.Before) {
				return now, refused(now.Path, fault.New(fault.InvalidParams, "Savant did not write this file; move it away"))
			}
			now.After = []byte(w.whole)
			return now, nil
		}
		made, err := configedit.Set(now.Before, w.format, w.entries)
		if err != nil {
			return now, refused(now.Path, err)
		}
		now.After = made
		return now, nil
	})
}

// Undo returns the changes that remove Savant's entries. A file that Setup created and
// nobody changed since is removed; one that Setup changed gets its original bytes back.
// The errors are those of Setup.
func (c Client) Undo(t Target) ([]Change, error) {
	return c.changes(t, func(w wanted, now Change) (Change, error) {
		if !now.Existed {
			return now, nil
		}
		if w.whole != "" {
			now.Gone = w.isOwn(t, now.Before)
			return now, nil
		}
		if made, err := w.fresh(); err == nil && bytes.Equal(made, now.Before) && len(backups(now.target)) == 0 {
			now.Gone = true
			return now, nil
		}
		without, err := configedit.Remove(now.Before, w.format, w.entries)
		if err != nil {
			return now, refused(now.Path, err)
		}
		now.After = without
		for _, name := range slices.Backward(backups(now.target)) {
			saved, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			if made, err := configedit.Set(saved, w.format, w.entries); err == nil && bytes.Equal(made, now.Before) && !bytes.Equal(saved, now.Before) {
				now.After = saved
				break
			}
		}
		return now, nil
	})
}

func (c Client) changes(t Target, become func(wanted, Change) (Change, error)) ([]Change, error) {
	files, err := c.wantedFiles(t)
	if err != nil {
		return nil, err
	}
	var list []Change
	for _, w := range files {
		now, err := read(w.path)
		if err != nil {
			return nil, err
		}
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

func refused(path string, err error) error {
	said := fault.From(err)
	return fault.New(said.Code, "%s: %s; nothing was changed", path, said.Details)
}

// read reads a file, following links.
func read(path string) (Change, error) {
	now := Change{Path: path, target: path, mode: 0o600}
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(path); err == nil {
			return now, refused(path, fault.New(fault.InvalidParams, "the symbolic link has no target; remove it"))
		}
		return now, nil
	}
	if err != nil {
		return now, refused(path, fault.New(fault.InvalidParams, "%w", err))
	}
	info, err := os.Stat(target)
	if err != nil {
		return now, refused(path, fault.New(fault.InvalidParams, "%w", err))
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return now, refused(path, fault.New(fault.InvalidParams, "a regular file of at most %d bytes was expected", maxFile))
	}
	now.Existed, now.mode, now.target = true, info.Mode().Perm(), target
	if now.Before, err = os.ReadFile(target); err != nil {
		return now, refused(path, fault.New(fault.InvalidParams, "%w", err))
	}
	now.After = now.Before
	return now, nil
}

// stamp is the time in the name of a backup.
const stamp = "20060102T150405.000Z"

// backups are the saved contents of a file, the oldest first.
func backups(path string) []string {
	list, _ := filepath.Glob(escaped(path) + ".savant-*.bak")
	slices.Sort(list)
	return list
}

func escaped(path string) string {
	return strings.NewReplacer(`[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(path)
}

// Apply writes each change atomically, keeping the file's mode, following links, and
// saving a backup next to the file. It stops with STATE_CONFLICT if a file changed since
// it was read.
func Apply(changes []Change, now time.Time) error {
	for _, change := range changes {
		if !change.Changed() {
			continue
		}
		if err := change.apply(now); err != nil {
			return err
		}
	}
	return nil
}

func (c Change) apply(now time.Time) error {
	latest, err := read(c.Path)
	if err != nil {
		return err
	}
	if latest.Existed != c.Existed || !bytes.Equal(latest.Before, c.Before) {
		return fault.New(fault.StateConflict, "%s changed while the command ran; run the command again", c.Path)
	}
	folder := filepath.Dir(c.target)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fault.New(fault.StateNotSaved, "make the folder of %s: %w", c.Path, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fault.New(fault.StateNotSaved, "open the folder of %s: %w", c.Path, err)
	}
	defer root.Close()
	name := filepath.Base(c.target)
	if c.Existed && !c.Gone {
		if err := atomicfile.Write(root, name+".savant-"+now.UTC().Format(stamp)+".bak", c.Before, c.mode); err != nil {
			return fault.New(fault.StateNotSaved, "back up %s before the change: %w", c.Path, err)
		}
	}
	if c.Gone {
		err = root.Remove(name)
	} else {
		err = atomicfile.Write(root, name, c.After, c.mode)
	}
	if err != nil {
		return fault.New(fault.StateNotSaved, "write %s: %w", c.Path, err)
	}
	return nil
}

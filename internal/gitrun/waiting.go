package gitrun

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"savant/fault"
)

// patience is how long git may run before it is looked at whether it waits for a
// file that is none.
const patience = time.Second

// endWaiting ends git, by cancel, where a file of rules in the working tree is a
// pipe or a device: git would wait for who writes to it. It is looked for only once
// git takes long, since it costs a walk through the tree.
func endWaiting(ctx context.Context, folder string, cancel context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(patience):
	}
	top := topOf(folder)
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error { // what cannot be read, git does not read
		switch name := filepath.Base(path); {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil
		case name == ".git" && entry.IsDir():
			return fs.SkipDir
		case name != ".gitignore" && name != ".gitattributes", entry.IsDir(), entry.Type().IsRegular(), entry.Type()&fs.ModeSymlink != 0: // git follows no link here
			return nil
		}
		named, err := filepath.Rel(top, path)
		if err != nil {
			named = filepath.Base(path)
		}
		cancel(fmt.Errorf("%s is not a regular file", fault.Cut(filepath.ToSlash(named), 200)))
		return fs.SkipAll
	})
}

// topOf returns the working tree that a folder is in, or the folder.
func topOf(folder string) string {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return folder
		}
	}
}

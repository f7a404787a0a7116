package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/regular"
)

// links checks the files of a repository's git folder before git reads any. A link that
// leaves the roots would make git read and quote forbidden files; a pipe would block
// it.
type links struct {
	ctx   context.Context
	roots []string
	seen  map[visit]bool // that were walked
	data  bool           // the files may be large: no stateName has them
}

// visit is a walk through a folder, whose files may be large if they are data.
type visit struct {
	folder string
	data   bool
}

// maxState bounds a file of the git folder that stateName matches or that is below one, in bytes:
// git holds or maps all of it. A million refs have less.
const maxState = 128 << 20

// check checks the repository of a folder, as git would find it, up to its root.
// Without a repository git reports the error.
func (l links) check(start, root string) error {
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return errors.Join(l.checkTop(at), l.checkNamed(at, ".git"))
		}
		if at == root || at == filepath.Dir(at) {
			return nil
		}
	}
}

// checkSubmodule refuses a submodule stored outside the roots: git has read its current
// commit.
func (r *repository) checkSubmodule(ctx context.Context, path string) error {
	if _, err := os.Lstat(filepath.Join(r.top, filepath.FromSlash(path), ".git")); err != nil {
		return nil // it is not checked out
	}
	roots, err := r.engine.resolvedRoots(true)
	if err != nil {
		return err
	}
	return links{ctx: ctx, roots: roots, seen: map[visit]bool{}}.checkNamed(filepath.Join(r.top, filepath.FromSlash(path)), ".git")
}

// checkTop checks the files at the top of the working tree that git itself reads.
func (l links) checkTop(top string) error {
	l.data = true
	for _, name := range []string{".gitignore", ".gitattributes", ".gitmodules", ".mailmap"} {
		if info, err := os.Lstat(filepath.Join(top, name)); err == nil {
			if err := l.checkEntry(top, fs.FileInfoToDirEntry(info)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNamed checks a git folder, or the one named in a file: .git of a linked working
// tree or a submodule, commondir.
func (l links) checkNamed(folder, name string) error {
	path := filepath.Join(folder, name)
	resolved, err := inside(l.roots, path)
	if err != nil {
		return err
	}
	info, err := os.Stat(resolved)
	switch {
	case err != nil:
		return nil // git reports the error
	case info.IsDir():
		return l.walk(resolved)
	}
	text, err := regular.ReadPath(resolved, maxPointer)
	if err != nil {
		return outsideError(path)
	}
	target := strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:"))
	if target == "" {
		return nil
	}
	if resolved, err = inside(l.roots, absolute(folder, target)); errors.Is(err, fault.InvalidParams) {
		return nil // it does not exist
	}
	if err != nil {
		return err
	}
	return l.walk(resolved)
}

// notRead are folders beside HEAD that git does not read here, or that hold other
// programs' data.
var notRead = map[string]bool{"hooks": true, "lfs": true, "annex": true}

// stateName matches what git keeps beside HEAD, apart from objects and the index
// (gitrepository-layout(5)). Other programs keep files there too.
var stateName = pattern.Lazy(`^([A-Z_]+|(?i:head|config|config\.worktree|packed-refs|shallow|commondir|gitdir|refs|reftable|logs|info|sequencer|rebase-\w+|worktrees|modules))$`)

// walk checks a folder and its subfolders.
func (l links) walk(folder string) error {
	if l.seen[visit{folder, l.data}] {
		return nil
	}
	l.seen[visit{folder, l.data}] = true
	if err := l.ctx.Err(); err != nil {
		return fault.New(fault.ToolFailed, "stopped: %w", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // git cannot read it either
	}
	_, err = os.Lstat(filepath.Join(folder, "HEAD"))
	repository := err == nil
	for _, entry := range entries {
		if repository && notRead[entry.Name()] {
			continue
		}
		below := l
		below.data = l.data || repository && !stateName().MatchString(entry.Name())
		if err := below.checkEntry(folder, entry); err != nil {
			return err
		}
	}
	if repository {
		if _, err := os.Lstat(filepath.Join(folder, "commondir")); err == nil {
			return l.checkNamed(folder, "commondir")
		}
	}
	return nil
}

func (l links) checkEntry(folder string, entry fs.DirEntry) error {
	path := filepath.Join(folder, entry.Name())
	switch kind := entry.Type(); {
	case kind.IsDir():
		return l.walk(path)
	case kind&fs.ModeSymlink != 0:
		return l.checkLink(path)
	case kind&fs.ModeSocket != 0: // of git's own watcher; opening one fails at once
		return nil
	case kind.IsRegular():
		info, err := entry.Info()
		if err == nil && !l.data && info.Size() > maxState {
			return largeError(path)
		}
		return nil // git reports what cannot be read
	}
	return outsideError(path)
}

// checkLink checks the target of a link. A broken link is refused if its target would
// be outside.
func (l links) checkLink(path string) error {
	resolved, err := inside(l.roots, path)
	if errors.Is(err, fault.InvalidParams) {
		target, failed := os.Readlink(path)
		if failed != nil {
			return outsideError(path)
		}
		if resolved, err = inside(l.roots, absolute(filepath.Dir(path), target)); errors.Is(err, fault.InvalidParams) {
			return nil
		}
	}
	if err != nil {
		return outsideError(path)
	}
	info, err := os.Stat(resolved)
	switch {
	case err != nil:
		return nil
	case info.Mode().IsRegular() && !l.data && info.Size() > maxState:
		return largeError(path)
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return l.walk(resolved)
	}
	return outsideError(path)
}

func largeError(path string) error {
	return fault.New(fault.LimitExceeded, "%s of the repository has more than %d bytes, and git would hold all of it; delete or shorten it, or clone the repository again",
		named(path), maxState)
}

// named is the name of a file with that of its folder.
func named(path string) string {
	return filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)))
}

// outsideError returns TOOL_DENIED for a file of the git folder that leads outside the
// repository.
func outsideError(path string) error {
	return fault.New(fault.ToolDenied, "%s of the repository leads outside the allowed roots, or is not a regular file", named(path))
}

// Package files says which files a folder has for a search, as git would list them, and which
// of them changed.
package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/gitrun"
	"savant/internal/withheld"
)

// maxFiles is the maximum number of files in a listing.
const maxFiles = 500_000

// neverListed are tools' folders, skipped everywhere.
var neverListed = map[string]bool{".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, "__pycache__": true, ".venv": true}

// MaxRules bounds a .gitignore, in bytes.
const MaxRules = gitrun.MaxRules

// Listing is what a folder offers to a reader: without ignored files, Savant's own,
// those of version control, and withheld ones. Names are relative, with slashes,
// sorted. A name may belong to a deleted file, a link or a folder (a submodule).
type Listing struct {
	Files []string
	// Folders are the folders in which files may appear, including the folder itself
	// (".").
	Folders []string
	// Rules are the .gitignore files in them, listed or not.
	Rules []string
	// Git: git listed the files; else .gitignore files were evaluated here.
	Git bool
	// Oversize are the rules files that are too large: nothing is read of them.
	Oversize []string
	// Unread counts the unreadable folders. Unsure: reading one failed with a disk
	// error, so it may become readable without any change.
	Unread int
	Unsure bool
}

// List lists a folder: with git in a working tree, else by walking. It does not follow
// symbolic links. An unreadable folder is TOOL_FAILED.
func List(ctx context.Context, folder string, kept withheld.Files) (Listing, error) {
	w := &walk{ctx: ctx, folder: folder, kept: kept}
	found, large := repositoryOf(folder), ""
	if found.git != "" {
		large = gitrun.Oversize(folder)
	}
	if found.git != "" && large == "" && !blocks(found.git) {
		w.found.Git = true
		if err := w.enter(".", nil); err != nil {
			return Listing{}, err
		}
		var listed []string
		if !w.blocked {
			listed, _ = gitListing(ctx, folder) // if git fails, the walk lists the files
		}
		if err := ctx.Err(); err != nil {
			return Listing{}, Stopped(err)
		}
		w.found.Files = slices.DeleteFunc(listed, w.own)
		if len(listed) == 0 {
			w.found = Listing{}
		}
	}
	if !w.found.Git {
		if err := w.enter(".", nil); err != nil {
			return Listing{}, err
		}
	}
	listing := w.found
	if large != "" && !slices.Contains(listing.Oversize, large) {
		listing.Oversize = append(listing.Oversize, large)
	}
	slices.Sort(listing.Files)
	listing.Files = slices.Compact(listing.Files) // a conflict lists a path up to three times
	slices.Sort(listing.Folders)
	return listing, nil
}

// own reports whether a file is never listed: Savant's state and logs, and withheld files.
func (w *walk) own(name string) bool {
	if strings.HasSuffix(name, "/") || w.kept.Has(name) {
		return true
	}
	if strings.HasPrefix(name, "logs/") && strings.Contains(path.Base(name), ".log") {
		return true
	}
	for segment := range strings.SplitSeq(path.Dir(name), "/") {
		if neverListed[segment] {
			return true
		}
	}
	return false
}

// walk walks folders. It lists files only if git has not.
type walk struct {
	ctx    context.Context
	folder string
	kept   withheld.Files
	found  Listing
	// blocked: a rules file is a pipe or a device, on which git would block, or is larger
	// than what may be read.
	blocked bool
}

// enter lists a folder recursively. It skips and counts unreadable folders, except the
// first.
func (w *walk) enter(name string, rules *ruleset) error {
	if err := w.ctx.Err(); err != nil {
		return Stopped(err)
	}
	entries, err := os.ReadDir(filepath.Join(w.folder, filepath.FromSlash(name)))
	if err != nil && name == "." {
		return NotRead(err)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.found.Unread++
		w.found.Unsure = w.found.Unsure || !errors.Is(err, fs.ErrPermission)
	}
	w.found.Folders = append(w.found.Folders, name)
	rules = w.rulesOf(name, entries, rules)
	for _, entry := range entries {
		if err := w.visit(path.Join(name, entry.Name()), entry, rules); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) visit(name string, entry fs.DirEntry, rules *ruleset) error {
	switch {
	case entry.IsDir():
		if neverListed[entry.Name()] || name == ".savant" || rules.ignores(name, true) {
			return nil
		}
		return w.enter(name, rules)
	case w.found.Git || !entry.Type().IsRegular() || rules.ignores(name, false) || w.own(name) || len(w.found.Files) == maxFiles:
		return nil
	}
	w.found.Files = append(w.found.Files, name)
	return nil
}

// rulesOf records a folder's .gitignore and returns the effective rules.
func (w *walk) rulesOf(name string, entries []fs.DirEntry, above *ruleset) *ruleset {
	for _, entry := range entries {
		switch {
		case entry.Name() != ignoreFile:
			continue
		case !entry.Type().IsRegular():
			w.blocked = w.blocked || entry.Type()&^fs.ModeSymlink != 0
			continue
		}
		w.found.Rules = append(w.found.Rules, path.Join(name, ignoreFile))
		if info, err := entry.Info(); err == nil && info.Size() > MaxRules {
			w.blocked, w.found.Oversize = true, append(w.found.Oversize, path.Join(name, ignoreFile))
			continue
		}
		text, err := os.ReadFile(filepath.Join(w.folder, filepath.FromSlash(name), ignoreFile))
		if err == nil {
			return &ruleset{above: above, base: strings.TrimPrefix(name+"/", "./"), rules: parseRules(string(text))}
		}
	}
	return above
}

// FolderError is the cause of TOOL_FAILED for an unreadable folder. Its own cause
// contains no path.
type FolderError struct{ Cause error }

func (e *FolderError) Error() string { return "the folder cannot be read: " + e.Cause.Error() }

func (e *FolderError) Unwrap() error { return e.Cause }

// NotRead returns TOOL_FAILED for an unreadable folder.
func NotRead(err error) error {
	return fault.New(fault.ToolFailed, "%w", &FolderError{fault.WithoutPath(err)})
}

// Stopped returns TOOL_FAILED for a call whose context ended.
func Stopped(err error) error { return fault.New(fault.ToolFailed, "stopped: %w", err) }

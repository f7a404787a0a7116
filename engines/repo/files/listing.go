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
	"savant/internal/withheld"
)

// maxFiles bounds what one folder's listing may hold.
const maxFiles = 500_000

// neverListed are folders of tools, wherever they are.
var neverListed = map[string]bool{".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, "__pycache__": true, ".venv": true}

// Listing is what a folder holds for a reader: no ignored files, none of
// Savant's own, none of version control, none that is withheld. Names are
// relative, with slashes, sorted. A name may be that of a deleted file, a link
// or a folder (a submodule).
type Listing struct {
	Files []string
	// Folders are those that files may appear in, the folder itself (".") among them.
	Folders []string
	// Rules are the .gitignore files in them, listed or not.
	Rules []string
	// Git says whether git listed the files; else .gitignore files were read here.
	Git bool
	// Unread counts the folders that cannot be read. Unsure says that the disk of
	// one failed, so that it may become readable without any change.
	Unread int
	Unsure bool
}

// List lists a folder: through the git program in a working tree, else by
// walking. Symbolic links are not followed. An unreadable folder is TOOL_FAILED.
func List(ctx context.Context, folder string, kept withheld.Files) (Listing, error) {
	w := &walk{ctx: ctx, folder: folder, kept: kept}
	if found := repositoryOf(folder); found.git != "" && !blocks(found.git) {
		w.found.Git = true
		if err := w.enter(".", nil); err != nil {
			return Listing{}, err
		}
		var listed []string
		if !w.blocked {
			listed, _ = gitListing(ctx, folder) // where git fails, files are looked for here
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
	slices.Sort(listing.Files)
	listing.Files = slices.Compact(listing.Files) // a conflict lists a path up to three times
	slices.Sort(listing.Folders)
	return listing, nil
}

// own says whether a file is Savant's: its state, its logs, or part of what is
// never listed, such as what no model may see.
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

// walk goes through folders. It lists the files only where git has not.
type walk struct {
	ctx    context.Context
	folder string
	kept   withheld.Files
	found  Listing
	// blocked: a file of rules is a pipe or a device, for which git would wait.
	blocked bool
}

// enter lists one folder and those below; one that cannot be read, other than
// the first, is passed over and counted.
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

// rulesOf notes a folder's .gitignore and returns the rules that apply in it.
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
		text, err := os.ReadFile(filepath.Join(w.folder, filepath.FromSlash(name), ignoreFile))
		if err == nil {
			return &ruleset{above: above, base: strings.TrimPrefix(name+"/", "./"), rules: parseRules(string(text))}
		}
	}
	return above
}

// FolderError is wrapped by the TOOL_FAILED of a folder that cannot be read at
// all. Its cause holds no path.
type FolderError struct{ Cause error }

func (e *FolderError) Error() string { return "the folder cannot be read: " + e.Cause.Error() }

func (e *FolderError) Unwrap() error { return e.Cause }

// NotRead is TOOL_FAILED of a folder that cannot be read at all.
func NotRead(err error) error {
	return fault.New(fault.ToolFailed, "%w", &FolderError{Plain(err)})
}

// Plain takes the absolute path out of an error.
func Plain(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// Stopped is TOOL_FAILED of a call whose context ended.
func Stopped(err error) error { return fault.New(fault.ToolFailed, "stopped: %w", err) }

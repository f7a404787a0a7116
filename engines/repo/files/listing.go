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
)

// maxFiles bounds what one folder's listing may hold.
const maxFiles = 500_000

// neverListed are folders of tools, wherever they are.
var neverListed = map[string]bool{".git": true, ".hg": true, ".svn": true, ".jj": true, "node_modules": true, "__pycache__": true, ".venv": true}

// Listing is what a folder holds for a reader: no ignored files, none of
// Savant's own, none of version control, none that is Secret. Names are
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
func List(ctx context.Context, folder string) (Listing, error) {
	files, ignored, err := gitListing(ctx, folder)
	if err := ctx.Err(); err != nil {
		return Listing{}, Stopped(err)
	}
	w := &walk{ctx: ctx, folder: folder, git: err == nil && len(files) > 0, ignored: ignored}
	if err := w.enter(".", nil); err != nil {
		return Listing{}, err
	}
	listing := Listing{Files: w.files, Folders: w.folders, Rules: w.rules, Git: w.git, Unread: w.unread, Unsure: w.unsure}
	if w.git {
		listing.Files = slices.DeleteFunc(files, own)
	}
	slices.Sort(listing.Files)
	listing.Files = slices.Compact(listing.Files) // a conflict lists a path up to three times
	slices.Sort(listing.Folders)
	return listing, nil
}

// own says whether a file is Savant's: its state, its logs, or part of what is
// never listed, such as what no model may see.
func own(name string) bool {
	if strings.HasSuffix(name, "/") || Secret(name) {
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

// walk goes through folders.
type walk struct {
	ctx            context.Context
	folder         string
	git            bool
	ignored        ignored // as git says
	files, folders []string
	rules          []string
	unread         int
	unsure         bool
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
		w.unread++
		w.unsure = w.unsure || !errors.Is(err, fs.ErrPermission)
	}
	w.folders = append(w.folders, name)
	rules, closed := w.rulesOf(name, entries, rules)
	if closed && w.hidden(name) {
		return nil // nothing can appear here before that changes
	}
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
		if neverListed[entry.Name()] || name == ".savant" || w.ignored.ruled[name] || rules.ignores(name, true) {
			return nil
		}
		return w.enter(name, rules)
	case w.git || !entry.Type().IsRegular() || rules.ignores(name, false) || own(name) || len(w.files) == maxFiles:
		return nil
	}
	w.files = append(w.files, name)
	return nil
}

// hidden says whether git knows no file of a folder.
func (w *walk) hidden(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if w.ignored.hidden[name] {
			return true
		}
	}
	return false
}

// rulesOf notes a folder's rules, and returns those that apply in it unless git
// applies them; closed says that they ignore everything in the folder.
func (w *walk) rulesOf(name string, entries []fs.DirEntry, above *ruleset) (_ *ruleset, closed bool) {
	for _, entry := range entries {
		if entry.Name() != ignoreFile || !entry.Type().IsRegular() {
			continue
		}
		w.rules = append(w.rules, path.Join(name, ignoreFile))
		text, err := os.ReadFile(filepath.Join(w.folder, filepath.FromSlash(name), ignoreFile))
		switch {
		case err == nil && w.git:
			return above, rulesOutAll(parseRules(string(text)))
		case err == nil:
			return &ruleset{above: above, base: strings.TrimPrefix(name+"/", "./"), rules: parseRules(string(text))}, false
		}
	}
	return above, false
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

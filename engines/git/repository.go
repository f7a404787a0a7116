package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"savant/fault"
	"savant/internal/gitrun"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// repository is a repository that may be read. Its folders are inside the roots, and
// git gets them explicitly, so it does not search for others.
type repository struct {
	engine *engine
	root   string // the allowed root around it
	top    string // the working tree
	gitDir string
	common string // gitDir, but the main one's for a linked working tree
	format string // sha1 or sha256
	// quiet are settings that disable the repository's filter programs.
	quiet []string
	// oversize is a setting that names a file too large for git, which is not read.
	oversize string
	// narrow: a remote's branches are fetched by name, and not all of them.
	narrow bool
	// leaks: git blame would quote a file outside the roots.
	leaks bool
}

// open finds the repository of a folder, without leaving the roots.
func (e *engine) open(ctx context.Context, folder string) (*repository, error) {
	roots, err := e.resolvedRoots(filepath.IsAbs(folder))
	if err != nil {
		return nil, err
	}
	start, root, err := locate(roots, folder)
	if err != nil {
		return nil, e.untrusted(roots, folder, err)
	}
	if _, err := os.Stat(start + string(filepath.Separator) + "."); err != nil { // which needs the right to enter it
		return nil, ownfolder.NotOpened(displayName(folder), err)
	}
	above := ceilings(roots)
	if shared := linkedData(start, root); shared != "" {
		roots = append(roots, shared)
	}
	l := links{ctx: ctx, roots: roots, seen: map[visit]bool{}}
	if err := l.check(start, root); err != nil {
		return nil, err
	}
	found, err := gitrun.Run(ctx, gitrun.Command{Folder: start, Project: e.roots[0], Variables: above, Limit: 64 << 10,
		Args: []string{"rev-parse", "--show-toplevel", "--git-dir", "--git-common-dir", "--show-object-format"}})
	if err != nil {
		return nil, notOpened(err, start, root)
	}
	lines := strings.Split(strings.TrimSuffix(string(found.Data), "\n"), "\n")
	if len(lines) != 4 {
		return nil, fault.New(fault.ToolDenied, "the path of the repository cannot be read")
	}
	r := &repository{engine: e, root: root, format: lines[3]}
	for i, into := range []*string{&r.top, &r.gitDir, &r.common} {
		if *into, err = inside(roots, absolute(start, lines[i])); err != nil {
			return nil, err
		}
	}
	return r, errors.Join(r.checkObjects(l), r.checkConfiguration(ctx, roots))
}

// untrusted returns why a folder is refused: TRUST_REQUIRED where it would be allowed
// once a person accepted what the settings say.
func (e *engine) untrusted(roots []string, folder string, refused error) error {
	if !errors.Is(refused, fault.ToolDenied) {
		return refused
	}
	for root, why := range e.waiting {
		if contains(root, absolute(roots[0], folder)) {
			return why
		}
	}
	return refused
}

// resolvedRoots returns the roots that exist. The first root must exist, unless the
// caller names a repository by an absolute path: a relative path is never looked up
// in another root.
func (e *engine) resolvedRoots(whole bool) ([]string, error) {
	roots := make([]string, 0, len(e.roots))
	var failed error
	for i, root := range e.roots {
		full, err := filepath.Abs(root)
		if err == nil {
			full, err = filepath.EvalSymlinks(full)
		}
		if err == nil {
			roots = append(roots, full)
		}
		if i == 0 {
			failed = err
		}
	}
	if len(roots) == 0 || failed != nil && !whole {
		return nil, ownfolder.NotOpened(displayName("."), failed)
	}
	return roots, nil
}

// displayName returns the name of a folder in errors.
func displayName(folder string) string {
	if folder == "" || folder == "." {
		return "SAVANT_PATH"
	}
	return fmt.Sprintf("repo: %q", fault.Cut(folder, 200))
}

// locate resolves the folder that a caller names and returns its root. Whether a
// folder exists is revealed only inside the roots.
func locate(roots []string, folder string) (start, root string, err error) {
	folder = cmp.Or(folder, ".")
	if strings.ContainsRune(folder, 0) {
		return "", "", invalid("repo", "a path without NUL", folder)
	}
	named := absolute(roots[0], folder)
	if start, err = inside(roots, named); err != nil {
		return "", "", err
	}
	if info, err := os.Stat(start); err != nil || !info.IsDir() {
		return "", "", invalid("repo", "an existing folder", folder)
	}
	for _, root = range roots {
		if contains(root, start) {
			break
		}
	}
	return start, root, nil
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// inside resolves symbolic links and refuses paths outside the roots. If a path does
// not exist, its nearest existing folder decides.
func inside(roots []string, path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	missing := err != nil
	for above := filepath.Dir(path); err != nil && above != filepath.Dir(above); above = filepath.Dir(above) {
		resolved, err = filepath.EvalSymlinks(above)
	}
	for _, root := range roots {
		if err != nil || !contains(root, resolved) {
			continue
		}
		if missing {
			return "", invalid("repo", "an existing folder", relative(root, path))
		}
		return resolved, nil
	}
	return "", fault.New(fault.ToolDenied, "the repository, or its data, is outside the allowed roots").Hinted(furtherRoots)
}

// furtherRoots says how a person allows data elsewhere.
var furtherRoots = fault.Hint{Text: "SAVANT_GIT_ROOTS names further folders that may be read; git worktree repair mends a working tree that was moved"}

func outside(roots []string, path string) bool {
	_, err := inside(roots, path)
	return errors.Is(err, fault.ToolDenied)
}

func contains(root, path string) bool {
	way, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(way)
}

func relative(root, path string) string {
	way, err := filepath.Rel(root, path)
	if err != nil {
		return "."
	}
	return way
}

// ceilings keep git from looking for a repository above the roots.
func ceilings(roots []string) []string {
	var above []string
	for _, root := range roots {
		above = append(above, filepath.Dir(root))
	}
	return []string{"GIT_CEILING_DIRECTORIES=" + strings.Join(above, string(filepath.ListSeparator))}
}

// notOpened explains why git opened no repository from start up to root.
func notOpened(err error, start, root string) error {
	var complaint *gitrun.Complaint
	switch {
	case !errors.As(err, &complaint):
		return err
	case complaint.Bare():
		return fault.New(fault.ToolFailed, "repo: this is a bare repository, which has no working tree").
			Hinted(fault.Hint{Text: "git worktree add ../NAME BRANCH makes one beside it, which can be read"})
	case complaint.NoRepository():
		for at := start; contains(root, at); at = filepath.Dir(at) {
			if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
				return fault.New(fault.ToolFailed, "repo: %s is damaged, git finds no repository in it: its HEAD, objects or refs are missing or cannot be read; "+
					"bring them back, or clone the repository again", filepath.ToSlash(filepath.Join(relative(root, at), ".git")))
			}
		}
		return fault.New(fault.InvalidParams, "repo: no git repository with a working tree was found, up to the top folder that may be read: "+
			"name a folder inside SAVANT_PATH or SAVANT_GIT_ROOTS").
			With(fault.Diagnostic{Path: "repo", Message: "no git repository with a working tree is here"})
	}
	return gitFailed(complaint, root)
}

// checkObjects refuses a repository whose objects are elsewhere, by a link or
// by the alternates file: the caller may not read them. A folder of objects may name
// further ones.
func (r *repository) checkObjects(l links) error {
	objects, err := inside(l.roots, filepath.Join(r.common, "objects"))
	if err != nil {
		return err
	}
	l.data = true
	return l.checkAlternates(objects, 0)
}

// maxAlternates is how many folders of objects may name each other in a row, as in
// git.
const maxAlternates = 5

func (l links) checkAlternates(objects string, depth int) error {
	if depth > maxAlternates {
		return nil // git does not follow them so far
	}
	if err := l.walk(objects); err != nil {
		return err
	}
	name := filepath.Join(objects, "info", "alternates")
	data, err := regular.ReadPath(name, maxPointer)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New(fault.ToolDenied, "the repository's list of alternates is no file of at most %d bytes that can be read", maxPointer)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		further, err := inside(l.roots, absolute(objects, line))
		if err != nil {
			return fault.New(fault.ToolDenied, "the repository borrows objects from outside the allowed roots").Hinted(furtherRoots)
		}
		if err := l.checkAlternates(further, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// run runs git on this repository and no other.
func (r *repository) run(ctx context.Context, input string, args ...string) (gitrun.Output, error) {
	return r.runBounded(ctx, maxBytes, input, args...)
}

func (r *repository) runBounded(ctx context.Context, limit int, input string, args ...string) (gitrun.Output, error) {
	variables := []string{"GIT_DIR=" + r.gitDir, "GIT_WORK_TREE=" + r.top}
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: r.top, Project: r.engine.roots[0], Variables: variables, Settings: r.quiet,
		Input: input, Limit: limit, Args: args})
	var complaint *gitrun.Complaint
	if errors.As(err, &complaint) {
		return gitrun.Output{}, gitFailed(complaint, r.root)
	}
	return out, err
}

// emptyTree returns the hash of the tree without files. A first commit is compared
// with it.
func (r *repository) emptyTree() string {
	if r.format == "sha256" {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

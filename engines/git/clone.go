package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"savant/fault"
)

// maxPointer bounds the files by which git folders name each other.
const maxPointer = 64 << 10

// pointer returns the path in a file by which git folders name each other, resolved and
// relative to the file's folder; "" if there is none.
func pointer(folder, name, prefix string) string {
	path := filepath.Join(folder, name)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxPointer {
		return ""
	}
	text, err := os.ReadFile(path)
	target, found := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	if err != nil || !found || target == "" {
		return ""
	}
	resolved, err := filepath.EvalSymlinks(absolute(folder, strings.TrimSpace(target)))
	if err != nil {
		return ""
	}
	return resolved
}

// linkedData returns the data of the main repository of a linked working tree, which may
// be outside the roots: it may be read if the main repository lists the working tree, so
// that no .git file can name another's repository. "" for any other folder.
func linkedData(start, root string) string {
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			entry := pointer(at, ".git", "gitdir:") // MAIN/worktrees/NAME
			main := filepath.Dir(filepath.Dir(entry))
			if entry == "" || filepath.Base(filepath.Dir(entry)) != "worktrees" ||
				pointer(entry, "commondir", "") != main || pointer(entry, "gitdir", "") != filepath.Join(at, ".git") {
				return ""
			}
			return main
		}
		if at == root || at == filepath.Dir(at) {
			return ""
		}
	}
}

// shallow reports a shallow clone.
func (r *repository) shallow() bool {
	info, err := os.Lstat(filepath.Join(r.common, "shallow"))
	return err == nil && info.Size() > 0
}

// shallowNote says what a shallow clone lacks.
const shallowNote = "this is a shallow clone: older commits are not in it; git fetch --unshallow brings them"

// incomplete says how a repository gets commits that it lacks.
func (r *repository) incomplete(ctx context.Context) fault.Hint {
	if refs, err := r.run(ctx, "", "for-each-ref", "--count=1"); err == nil && len(refs.Data) == 0 {
		return fault.Hint{Text: "there is no commit yet: git add -A, then git commit -m MESSAGE, makes the first"}
	}
	var lacks []string
	if r.shallow() {
		lacks = append(lacks, "this is a shallow clone, which lacks older commits: git fetch --unshallow brings them")
	}
	if r.narrow {
		lacks = append(lacks, "this clone has not all branches: git fetch origin NAME:NAME brings one")
	}
	return fault.Hint{Text: strings.Join(lacks, "; ")}
}

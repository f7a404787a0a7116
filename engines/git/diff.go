package git

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/withheld"
)

type diffIn struct {
	Repo      string   `json:"repo,omitempty" doc:"Folder in the repository; default: the allowed root."`
	From      string   `json:"from,omitempty" doc:"Commit to compare with; default HEAD, or the first parent of to." example:"HEAD~1"`
	To        string   `json:"to,omitempty" doc:"Commit to compare; default the working tree."`
	Staged    bool     `json:"staged,omitempty" doc:"Compare the index instead of the working tree."`
	MergeBase bool     `json:"merge_base,omitempty" doc:"Compare with where to branched off from."`
	Paths     []string `json:"paths,omitempty" doc:"Only these files or folders, relative to the repository's top."`
	Context   *int     `json:"context,omitempty" min:"0" max:"100" doc:"Unchanged lines around each change; default 3."`
	Functions bool     `json:"functions,omitempty" doc:"Show each change with the whole function around it."`
	NoPatch   bool     `json:"no_patch,omitempty" doc:"Only list the files, with their counts of lines."`
	MaxBytes  int      `json:"max_bytes,omitempty" min:"1000" max:"10000000" doc:"Most bytes to read; default and most: the server's limit."`
}

type changes struct {
	Files     []fileDiff `json:"files"`
	Truncated bool       `json:"truncated"`
	Note      string     `json:"note,omitempty"`
}

// fileDiff is the change of one file. Additions and Deletions count lines; they are 0
// for a binary file.
type fileDiff struct {
	Path        string `json:"path"`
	Status      string `json:"status"`
	RenamedFrom string `json:"renamed_from,omitempty"`
	Additions   int    `json:"additions"`
	Deletions   int    `json:"deletions"`
	Binary      bool   `json:"binary"`
	Patch       string `json:"patch"`
	// Withheld: the patch is omitted because the file may hold secrets.
	Withheld bool `json:"withheld,omitempty"`
	// submodule: the change is a submodule's commit.
	submodule bool
}

func (e *engine) diff(ctx context.Context, in diffIn) (changes, error) {
	r, err := e.open(ctx, in.Repo)
	if err != nil {
		return changes{}, err
	}
	sides, err := r.sides(ctx, in)
	if err != nil {
		return changes{}, err
	}
	return r.compare(ctx, comparison{sides, in.Paths, in.Context, in.Functions, in.NoPatch, in.MaxBytes})
}

// sides returns the arguments of git diff for the two sides.
func (r *repository) sides(ctx context.Context, in diffIn) ([]string, error) {
	if in.Staged && in.To != "" {
		return nil, fault.New(fault.InvalidParams, "staged compares the index, so leave out to")
	}
	if in.MergeBase && in.From == "" {
		return nil, fault.New(fault.InvalidParams, "merge_base needs from")
	}
	to := ""
	if in.To != "" {
		var err error
		if to, err = r.commit(ctx, "to", in.To); err != nil {
			return nil, err
		}
	}
	from, err := r.from(ctx, in, to)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Staged:
		return []string{"--cached", from}, nil
	case to == "":
		return []string{from}, nil
	}
	return []string{from, to}, nil
}

// from returns the commit to compare with: the requested one, else the first parent of
// to, else HEAD. If it does not exist, it is the empty tree.
func (r *repository) from(ctx context.Context, in diffIn, to string) (string, error) {
	switch {
	case in.MergeBase:
		return r.mergeBase(ctx, in.From, to)
	case in.From != "":
		return r.commit(ctx, "from", in.From)
	case to != "":
		shown, err := r.describe(ctx, to)
		return r.before(shown), err
	}
	head, err := r.head(ctx)
	return cmp.Or(head, r.emptyTree()), err
}

func (r *repository) mergeBase(ctx context.Context, name, to string) (string, error) {
	from, err := r.commit(ctx, "from", name)
	if err != nil {
		return "", err
	}
	found, err := r.run(ctx, "", "merge-base", from, cmp.Or(to, "HEAD"))
	if isExitError(err) {
		return "", fault.New(fault.InvalidParams, "from and to have no commit in common").Hinted(r.incomplete(ctx))
	}
	return strings.TrimSpace(string(found.Data)), err
}

// before returns the first parent of a commit, or the empty tree.
func (r *repository) before(c commit) string {
	if len(c.Parents) == 0 {
		return r.emptyTree()
	}
	return c.Parents[0]
}

// comparison describes a call of git diff.
type comparison struct {
	sides, paths       []string
	around             *int // unchanged lines around each change
	functions, noPatch bool
	maxBytes           int
}

// compare runs git diff and takes the list of files, counts and patches from one
// output, so that they describe the same moment of the working tree.
func (r *repository) compare(ctx context.Context, c comparison) (changes, error) {
	paths, err := inTree("paths", c.paths...)
	if err != nil {
		return changes{}, err
	}
	limit := min(cmp.Or(c.maxBytes, maxBytes), maxBytes)
	args := []string{"diff", "--raw", "--numstat", "--no-abbrev", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "-M",
		"--submodule=short", "--ignore-submodules=dirty", "-O/dev/null"}
	if !c.noPatch {
		lines := 3
		if c.around != nil {
			lines = *c.around
		}
		if c.functions {
			args = append(args, "--function-context")
		}
		args = append(args, "--patch", "--src-prefix=a/", "--dst-prefix=b/", "--inter-hunk-context=0", "--unified="+strconv.Itoa(lines))
	}
	args = append(append(append(args, c.sides...), "--"), paths...)
	out, err := r.runBounded(ctx, limit, "", args...)
	if err != nil {
		return changes{}, err
	}
	made := parseDiff(string(out.Data), out.Cut)
	for _, f := range made.Files {
		if f.submodule {
			if err := r.checkSubmodule(ctx, f.Path); err != nil {
				return changes{}, err
			}
		}
	}
	if out.Cut {
		made.Truncated, made.Note = true, cutNote(made.Files, limit)
	}
	made.withhold(r.engine.kept)
	return made, nil
}

// withhold removes the patches of files that may hold secrets under their old or new
// name.
func (c *changes) withhold(kept withheld.Files) {
	count := 0
	for i := range c.Files {
		f := &c.Files[i]
		if kept.Has(f.Path) || kept.Holds(f.Path, []byte(f.Patch)) || f.RenamedFrom != "" && kept.Has(f.RenamedFrom) {
			f.Patch, f.Withheld = "", true
			count++
		}
	}
	if count == 0 {
		return
	}
	note := fmt.Sprintf("%d of the files may hold secrets, so their patches are withheld; a person can have them shown by %s", count, withheld.Setting)
	c.Note = strings.TrimPrefix(c.Note+"; "+note, "; ")
}

func cutNote(files []fileDiff, limit int) string {
	without := 0
	for _, f := range files {
		if f.Patch == "" {
			without++
		}
	}
	return fmt.Sprintf("cut at %d bytes: %d files listed, the patches of %d of them left out or never read, the last patch may be incomplete; ask for single paths", limit, len(files), without)
}

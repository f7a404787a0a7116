package git

import (
	"cmp"
	"context"
	"strings"

	"savant/fault"
)

type showIn struct {
	Repo     string   `json:"repo,omitempty" doc:"Folder in the repository; default: the allowed root."`
	Ref      string   `json:"ref,omitempty" doc:"Commit, branch or tag; default HEAD." example:"HEAD"`
	Paths    []string `json:"paths,omitempty" doc:"Only these files or folders, relative to the repository's top."`
	Context  *int     `json:"context,omitempty" min:"0" max:"100" doc:"Unchanged lines around each change; default 3."`
	NoPatch  bool     `json:"no_patch,omitempty" doc:"Only list the files, with their counts of lines."`
	MaxBytes int      `json:"max_bytes,omitempty" min:"1000" max:"10000000" doc:"Most bytes to read; default and most: the server's limit."`
}

type commitDetails struct {
	Commit    commit     `json:"commit"`
	Files     []fileDiff `json:"files"`
	Truncated bool       `json:"truncated"`
	Note      string     `json:"note,omitempty"`
}

func (e *engine) show(ctx context.Context, in showIn) (commitDetails, error) {
	r, err := e.open(ctx, in.Repo)
	if err != nil {
		return commitDetails{}, err
	}
	hash, err := r.commit(ctx, "ref", cmp.Or(in.Ref, "HEAD"))
	if err != nil {
		return commitDetails{}, err
	}
	described, err := r.describe(ctx, hash)
	if err != nil {
		return commitDetails{}, err
	}
	made, err := r.compare(ctx, comparison{sides: []string{r.before(described), hash}, paths: in.Paths, around: in.Context, noPatch: in.NoPatch, maxBytes: in.MaxBytes})
	if err != nil {
		return commitDetails{}, err
	}
	if len(described.Parents) == 0 && r.shallow() {
		made.Note = strings.TrimPrefix(made.Note+"; "+shallowNote, "; ")
	}
	return commitDetails{Commit: described, Files: made.Files, Truncated: made.Truncated, Note: made.Note}, nil
}

// describe reads one commit by its hash.
func (r *repository) describe(ctx context.Context, hash string) (commit, error) {
	out, err := r.run(ctx, "", "log", "-z", commitFormat, "--no-show-signature", "--max-count=1", hash, "--")
	if err != nil {
		return commit{}, err
	}
	commits := parseCommits(out.Records())
	if len(commits) != 1 {
		return commit{}, fault.New(fault.LimitExceeded, "the message of commit %s is too long for one answer", hash)
	}
	return commits[0], nil
}

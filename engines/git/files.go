package git

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"savant/fault"
	"savant/internal/gitrun"
)

type filesIn struct {
	Repo      string   `json:"repo,omitempty" doc:"Folder in the repository; default: the allowed root."`
	Ref       string   `json:"ref,omitempty" doc:"Commit, branch or tag; default the index."`
	Paths     []string `json:"paths,omitempty" doc:"Only these files or folders, relative to the repository's top." example:"[\"cmd\"]"`
	Untracked bool     `json:"untracked,omitempty" doc:"Also files that are not committed and not ignored."`
	Limit     int      `json:"limit,omitempty" min:"1" max:"10000" doc:"Most paths to return; default 1000."`
}

type fileList struct {
	Files     []string `json:"files"`
	Truncated bool     `json:"truncated"`
	Note      string   `json:"note,omitempty"`
}

func (e *engine) files(ctx context.Context, in filesIn) (fileList, error) {
	if in.Ref != "" && in.Untracked {
		return fileList{}, fault.New(fault.InvalidParams, "untracked files belong to no commit: leave out ref or untracked")
	}
	r, err := e.open(ctx, in.Repo)
	if err != nil {
		return fileList{}, err
	}
	return r.files(ctx, in)
}

func (r *repository) files(ctx context.Context, in filesIn) (fileList, error) {
	paths, err := inTree("paths", in.Paths...)
	if err != nil {
		return fileList{}, err
	}
	args := []string{"ls-files", "-z", "--cached"}
	if in.Untracked {
		args = append(args, "--others", "--exclude-standard")
	}
	if in.Ref != "" {
		hash, err := r.commit(ctx, "ref", in.Ref)
		if err != nil {
			return fileList{}, err
		}
		args = []string{"ls-tree", "-r", "-z", "--name-only", hash}
	}
	out, err := r.run(ctx, "", append(append(args, "--"), paths...)...)
	if err != nil {
		return fileList{}, err
	}
	return parseFileList(out, cmp.Or(in.Limit, 1000)), nil
}

func parseFileList(out gitrun.Output, limit int) fileList {
	all := out.Records()
	slices.Sort(all)
	list := fileList{Files: slices.Compact(all)} // a conflict lists a path up to three times
	if len(list.Files) > limit || out.Cut {
		list.Files = list.Files[:min(limit, len(list.Files))]
		list.Truncated, list.Note = true, fmt.Sprintf("there are more than these %d files; ask for single paths", len(list.Files))
	}
	return list
}

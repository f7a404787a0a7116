package files

import (
	"context"
	"errors"
	"time"

	"savant/internal/gitrun"
)

// errNotGit means that git cannot list a folder.
var errNotGit = errors.New("not a git repository")

// maxGitOutput bounds the output of one git call, in bytes.
const maxGitOutput = 64 << 20

// gitRecords runs git and returns what it prints, split at NUL, at most maxFiles
// parts. errNotGit: git is missing, failed or found no repository.
func gitRecords(ctx context.Context, folder string, arguments ...string) ([]string, error) {
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: maxGitOutput, Args: arguments})
	if err != nil {
		return nil, errors.Join(errNotGit, ctx.Err())
	}
	records := out.Records()
	return records[:min(len(records), maxFiles)], ctx.Err()
}

// listingTime bounds git's listing of a folder: it would block forever on a pipe in
// place of a rules file in an ignored folder.
const listingTime = 30 * time.Second

// gitListing lists the files that git tracks or would add. errNotGit if core.worktree
// leads elsewhere: git would list that folder.
func gitListing(ctx context.Context, folder string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listingTime)
	defer cancel()
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: 100, Args: []string{"rev-parse", "--is-inside-work-tree"}})
	if err != nil || string(out.Data) != "true\n" {
		return nil, errors.Join(errNotGit, ctx.Err())
	}
	return gitRecords(ctx, folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
}

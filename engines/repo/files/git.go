package files

import (
	"context"
	"errors"
	"time"

	"savant/internal/gitrun"
)

// errNotGit says that git cannot list a folder.
var errNotGit = errors.New("not a git repository")

// maxGitOutput bounds what one call of git may list, in bytes.
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

// listingTime bounds how long git may take to list the files of a folder. A pipe in
// place of a file of rules, in a folder that is ignored, would have it wait for ever.
const listingTime = 30 * time.Second

// gitListing lists the files git knows or would add. Where core.worktree leads
// elsewhere git would list that folder; this is errNotGit then.
func gitListing(ctx context.Context, folder string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listingTime)
	defer cancel()
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: 100, Args: []string{"rev-parse", "--is-inside-work-tree"}})
	if err != nil || string(out.Data) != "true\n" {
		return nil, errors.Join(errNotGit, ctx.Err())
	}
	return gitRecords(ctx, folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
}

package files

import (
	"context"
	"errors"
	"strings"
	"sync"

	"savant/internal/gitrun"
)

// errNotGit says that git has nothing to say of a folder.
var errNotGit = errors.New("not a git repository")

// maxGitOutput bounds what one call of git may list, in bytes.
const maxGitOutput = 64 << 20

// gitRecords runs git on an input and returns what it prints, split at NUL, at
// most maxFiles parts. errNotGit: git is missing, failed or found no repository.
func gitRecords(ctx context.Context, folder, input string, arguments ...string) ([]string, error) {
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Input: input, Limit: maxGitOutput, Args: arguments})
	if err != nil {
		return nil, errors.Join(errNotGit, ctx.Err())
	}
	records := out.Records()
	return records[:min(len(records), maxFiles)], ctx.Err()
}

// ignored are folders that git says nothing of.
type ignored struct {
	// ruled are those that a rule names; hidden are those in which every file
	// is ruled out, and no file is known.
	ruled, hidden map[string]bool
}

// gitListing lists the files git knows or would add, and the folders it ignores.
// Where core.worktree leads elsewhere git would list that; it has nothing to say
// of the folder then.
func gitListing(ctx context.Context, folder string) (files []string, folders ignored, err error) {
	var asking sync.WaitGroup
	var notInside, notIgnored error
	asking.Go(func() { folders, notIgnored = gitIgnored(ctx, folder) })
	asking.Go(func() { notInside = insideWorkTree(ctx, folder) })
	files, err = gitRecords(ctx, folder, "", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	asking.Wait()
	return files, folders, errors.Join(err, notIgnored, notInside)
}

func insideWorkTree(ctx context.Context, folder string) error {
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: 100, Args: []string{"rev-parse", "--is-inside-work-tree"}})
	if err != nil || string(out.Data) != "true\n" {
		return errors.Join(errNotGit, ctx.Err())
	}
	return nil
}

// gitIgnored asks twice: ls-files does not tell a folder that is ruled out from
// one in which all files are, where others may appear.
func gitIgnored(ctx context.Context, folder string) (ignored, error) {
	found := ignored{map[string]bool{}, map[string]bool{}}
	paths, err := gitRecords(ctx, folder, "", "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return found, err
	}
	var asked strings.Builder
	for _, each := range paths {
		if name, isFolder := strings.CutSuffix(each, "/"); isFolder {
			found.hidden[name] = true
			asked.WriteString(each + "\x00")
		}
	}
	if asked.Len() == 0 {
		return found, nil
	}
	ruled, err := gitRecords(ctx, folder, asked.String(), "check-ignore", "-z", "--stdin")
	for _, each := range ruled { // the exit code 1 says that there are none
		name := strings.TrimSuffix(each, "/")
		found.ruled[name] = true
		delete(found.hidden, name)
	}
	if errors.Is(err, errNotGit) {
		err = ctx.Err()
	}
	return found, err
}

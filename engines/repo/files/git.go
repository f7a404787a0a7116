package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"savant/internal/gitrun"
)

// errNotGit means that git cannot list a folder.
var errNotGit = errors.New("not a git repository")

// maxGitOutput bounds the output of one git call, in bytes.
const maxGitOutput = 64 << 20

// gitRecords runs git and returns what it prints, split at NUL, at most maxFiles
// parts. errNotGit: git is missing, failed, would read large files or found no repository.
func gitRecords(ctx context.Context, folder string, arguments ...string) ([]string, error) {
	if gitrun.Oversize(folder) != "" {
		return nil, errNotGit
	}
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

// Absent counts what git tracks in a folder and has not checked out.
type Absent struct {
	Files, Submodules int
	Bare              bool // the folder is a bare repository, which checks out nothing
}

// NotCheckedOut returns what a sparse checkout leaves out of a folder, or of some paths in it,
// and the submodules of its .gitmodules that are empty. git is asked only where one of them is
// possible.
func NotCheckedOut(ctx context.Context, folder string, paths ...string) (found Absent) {
	git := repositoryOf(folder).git
	_, err := os.Stat(filepath.Join(folder, "objects"))
	found.Bare = err == nil && isFile(filepath.Join(folder, "HEAD")) && isFile(filepath.Join(folder, "config"))
	if git == "" || blocks(git) || !isFile(filepath.Join(git, "info", "sparse-checkout")) && !isFile(filepath.Join(folder, ".gitmodules")) {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, listingTime)
	defer cancel()
	entries, _ := gitRecords(ctx, folder, append([]string{"--literal-pathspecs", "ls-files", "-z", "-t", "--stage", "--"}, paths...)...) // without git nothing is known to be absent
	for _, entry := range entries {
		about, name, _ := strings.Cut(entry, "\t")
		switch {
		case strings.HasPrefix(about, "S "):
			found.Files++
		case strings.HasPrefix(about, "H 160000 "):
			if _, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(name), ".git")); err != nil {
				found.Submodules++
			}
		}
	}
	return found
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

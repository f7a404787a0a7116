package files

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"savant/internal/regular"
)

// source is a file or folder that determines a listing: a folder, a rules file, a file
// of git. The stamp of a missing one is zero.
type source struct {
	Name  string // relative to the listing's folder, with slashes, or absolute
	Stamp Stamp
}

// sourcesOf returns the names of all sources of a listing. This program is one: another
// version may have other rules about secrets.
func sourcesOf(ctx context.Context, folder string, listing Listing) []string {
	found := repositoryOf(folder)
	names := slices.Concat(listing.Folders, listing.Rules, found.sources)
	if listing.Git && found.git != "" {
		shared := sharedFolder(found.git)
		names = append(names, filepath.Join(found.git, "index"), filepath.Join(shared, "config"),
			filepath.Join(found.git, "config.worktree"), filepath.Join(shared, "info", "exclude"))
	}
	if found.git == "" || !blocks(found.git) {
		names = append(names, gitConfiguration(ctx, folder)...)
	}
	if program, err := os.Executable(); err == nil {
		names = append(names, program)
	}
	return names
}

// repository locates a folder's version control.
type repository struct {
	git string // the folder that git keeps, or ""
	// sources are the rules above the folder, and the places where an enclosing
	// repository could appear.
	sources []string
}

func repositoryOf(folder string) repository {
	var found repository
	for at := folder; ; at = filepath.Dir(at) {
		named := filepath.Join(at, ".git")
		if at != folder {
			found.sources = append(found.sources, filepath.Join(at, ignoreFile))
		}
		info, err := os.Lstat(named)
		switch {
		case err == nil && info.IsDir():
			found.git = named
			return found
		case err == nil && info.Mode().IsRegular():
			found.git = linkedFolder(at, named, "gitdir: ")
			found.sources = append(found.sources, named)
			return found
		case at == filepath.Dir(at):
			return found
		}
		found.sources = append(found.sources, named)
	}
}

// blocks reports whether git would block while listing, on a pipe in place of one of
// its files.
func blocks(git string) bool {
	if !isRegular(filepath.Join(git, "commondir")) {
		return true
	}
	shared := sharedFolder(git)
	for _, name := range []string{"HEAD", "index", "config", "config.worktree", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/sparse-checkout"} {
		if !isRegular(filepath.Join(git, name)) || !isRegular(filepath.Join(shared, name)) {
			return true
		}
	}
	return false
}

// isRegular reports whether a path is a regular file or does not exist.
func isRegular(name string) bool {
	info, err := os.Stat(name)
	return err != nil || info.Mode().IsRegular()
}

// maxPointer bounds a file that only names a folder, in bytes.
const maxPointer = 64 << 10

// linkedFolder returns the folder named in a file, or "".
func linkedFolder(folder, named, prefix string) string {
	text, err := regular.ReadPath(named, maxPointer)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), prefix)
	if err != nil || !ok || target == "" {
		return ""
	}
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(folder, target)
}

// sharedFolder returns where linked working trees share their git data.
func sharedFolder(git string) string {
	return cmp.Or(linkedFolder(git, filepath.Join(git, "commondir"), ""), git)
}

// gitConfiguration returns the files that configure git for a folder, and those
// with rules that they name, whether or not they exist (git-config(1), FILES;
// gitignore(5)).
func gitConfiguration(ctx context.Context, folder string) []string {
	names := []string{"/etc/gitconfig"}
	home := os.Getenv("HOME")
	if home != "" {
		names = append(names, filepath.Join(home, ".gitconfig"))
	}
	if users := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")); filepath.IsAbs(users) {
		names = append(names, filepath.Join(users, "git", "config"), filepath.Join(users, "git", "ignore"))
	}
	lines, _ := gitRecords(ctx, folder, "config", "-z", "--list", "--show-origin") // without git it decides nothing
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "file:"); ok {
			names = append(names, absolute(folder, name))
		}
		if name, ok := strings.CutPrefix(line, "core.excludesfile\n"); ok {
			if below, ok := strings.CutPrefix(name, "~/"); ok {
				name = filepath.Join(home, below)
			}
			names = append(names, absolute(folder, name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func absolute(folder, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(folder, name)
}

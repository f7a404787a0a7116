package gitrun

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/regular"
)

// patience is how long git may run before endWaiting checks for pipes and devices.
const patience = time.Second

// endWaiting cancels git if an ignore or attributes file in the working tree, or a file that
// the repository's configuration names, is a pipe or a device, on which git would block.
// The check walks the tree, so it runs only after patience.
func endWaiting(ctx context.Context, folder string, cancel context.CancelCauseFunc) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(patience):
	}
	top := topOf(folder)
	if named := waitsFor(filepath.Join(top, ".git", "config"), top); named != "" {
		cancel(fmt.Errorf("%s, which the repository's configuration names, is not a regular file", fault.Cut(filepath.ToSlash(named), 200)))
		return
	}
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error { // git cannot read unreadable folders either
		switch name := filepath.Base(path); {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil
		case name == ".git" && entry.IsDir():
			return fs.SkipDir
		case name != ".gitignore" && name != ".gitattributes", entry.IsDir(), entry.Type().IsRegular(), entry.Type()&fs.ModeSymlink != 0: // git does not follow links here
			return nil
		}
		named, err := filepath.Rel(top, path)
		if err != nil {
			named = filepath.Base(path)
		}
		cancel(fmt.Errorf("%s is not a regular file", fault.Cut(filepath.ToSlash(named), 200)))
		return fs.SkipAll
	})
}

// maxSettings bounds how many files of settings are looked at, maxLines how many lines.
const (
	maxSettings = 100
	maxLines    = 10_000
)

// waitsFor returns a value in a file of git's settings, or in one that it names, that is the
// name of a pipe or a device; "" for none.
func waitsFor(settings, top string) string {
	files, lines := []string{settings}, 0
	for i := 0; i < min(len(files), maxSettings); i++ {
		text, _ := regular.ReadPath(files[i], MaxRules) // what cannot be read names nothing
		for line := range strings.Lines(string(text)) {
			if lines++; lines > maxLines {
				return ""
			}
			_, value, _ := strings.Cut(line, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if value == "" || value == os.DevNull {
				continue
			}
			for _, from := range []string{filepath.Dir(files[i]), top} { // of an included file, of others
				path := value
				if !filepath.IsAbs(value) {
					path = filepath.Join(from, value)
				}
				info, err := os.Stat(path)
				if err != nil || info.IsDir() || slices.Contains(files, path) {
					continue
				}
				if !info.Mode().IsRegular() {
					return value
				}
				files = append(files, path)
			}
		}
	}
	return ""
}

// MaxRules bounds a file with rules for git that a folder brings, in bytes: git holds all
// of it in memory.
const MaxRules = 1 << 20

// rulesFiles and stateFiles are what git reads of a folder in any case.
var (
	rulesFiles = []string{".gitignore", ".savant/.gitignore", ".git/info/exclude", ".gitattributes", ".git/info/attributes"}
	stateFiles = []string{".git/HEAD", ".git/commondir", ".git/config", ".git/config.worktree", ".git/info/sparse-checkout"}
)

// OversizeRules returns the first file of rules that git would read for a folder in any
// case and that has more than MaxRules bytes, relative to the working tree; "" for none.
// Further ones may be in the folders below.
func OversizeRules(folder string) string { return oversize(topOf(folder), rulesFiles) }

// Oversize is OversizeRules for the rules and the state of the repository.
func Oversize(folder string) string {
	return cmp.Or(OversizeRules(folder), oversize(topOf(folder), stateFiles))
}

func oversize(top string, names []string) string {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(top, filepath.FromSlash(name))); err == nil && info.Size() > MaxRules {
			return name
		}
	}
	return ""
}

// topOf returns the working tree that contains a folder, or the folder itself.
func topOf(folder string) string {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return folder
		}
	}
}

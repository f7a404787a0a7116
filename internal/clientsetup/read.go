package clientsetup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/regular"
)

// The bounds of a configuration file, in bytes: of a project, which a clone can bring, and
// of the person. Claude Code keeps its history in the person's.
const (
	maxInProject = 1 << 20
	maxOwn       = 8 << 20
)

// read reads a file, following links: in a project only those that stay in it, since a
// clone can bring them. project is its folder without links, "" for a person's own file.
func read(path, project string) (Change, error) {
	now := Change{Path: path, Target: path, mode: 0o600, project: project}
	target, err := resolve(path)
	if err != nil {
		return now, refused(path, fault.New(fault.InvalidParams, "%w", err))
	}
	if project != "" && !filepath.IsLocal(regular.Relative(project, target)) {
		return now, refused(path, fault.New(fault.InvalidParams, "a symbolic link leads out of the project, to %s; remove the link", target))
	}
	now.Target = target
	root, name, err := now.root()
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err != nil {
		return now, refused(path, fault.New(fault.InvalidParams, "%w", err))
	}
	defer root.Close()
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return now, nil
	}
	if err == nil {
		limit := int64(maxOwn)
		if project != "" {
			limit = maxInProject
		}
		now.Existed, now.mode = true, info.Mode().Perm()
		now.Before, err = measured(limit)(regular.ReadFile(root, name, limit))
	}
	if err != nil {
		return now, refused(path, fault.New(fault.InvalidParams, "%w", err))
	}
	now.After = now.Before
	return now, nil
}

// resolve returns where a path leads, also one that does not exist yet.
func resolve(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New("the symbolic link has no target; remove it")
	}
	above, err := resolve(filepath.Dir(path))
	return filepath.Join(above, filepath.Base(path)), err
}

// root opens the folder that the change may not leave, and names the file in it.
func (c Change) root() (*os.Root, string, error) {
	folder := cmp.Or(c.project, filepath.Dir(c.Target))
	root, err := regular.OpenFolder(folder)
	return root, filepath.ToSlash(regular.Relative(folder, c.Target)), err
}

// measured says of a file that is too large how large it may be.
func measured(limit int64) func([]byte, error) ([]byte, error) {
	return func(data []byte, err error) ([]byte, error) {
		if errors.Is(err, regular.ErrTooLarge) {
			err = fmt.Errorf("the file has more than %d bytes and was not read", limit)
		}
		return data, err
	}
}

// text reads a file of at most limit bytes that nothing is written to.
func text(path string, limit int64) ([]byte, error) {
	return measured(limit)(regular.ReadPath(path, limit))
}

// stamp is the time in the name of a backup.
const stamp = "20060102T150405.000Z"

// backups are the saved contents of a file, the oldest first. A link is none: a clone can
// bring it.
func backups(path string) []string {
	list, _ := filepath.Glob(escaped(path) + ".savant-*.bak")
	list = slices.DeleteFunc(list, func(each string) bool {
		info, err := os.Lstat(each)
		return err != nil || !info.Mode().IsRegular()
	})
	slices.Sort(list)
	return list
}

func escaped(path string) string {
	return strings.NewReplacer(`[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(path)
}

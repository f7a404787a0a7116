package claim

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"savant/internal/filelock"
	"savant/internal/regular"
)

// GC removes the files of claims that nobody holds, which killed processes
// leave, and returns how many there were; dry only counts them. Those of the names in
// unfinished stay: they are marks, see State. On a system without file locks it removes
// nothing.
func GC(ctx context.Context, root *os.Root, unfinished []string, dry bool) (removed int, err error) {
	if !filelock.Supported {
		return 0, nil
	}
	entries, err := regular.ReadDir(root, Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	marks := map[string]bool{}
	for _, name := range unfinished {
		marks[path.Base(fileOf(name))] = true
	}
	for _, each := range entries {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		if !each.Type().IsRegular() || !strings.HasSuffix(each.Name(), suffix) || marks[each.Name()] {
			continue
		}
		held, err := attempt(root, path.Join(Folder, each.Name()), os.O_RDWR)
		if err != nil {
			continue // somebody holds it
		}
		removed++
		if dry {
			_ = held.file.Close()
		} else {
			held.release()
		}
	}
	return removed, err
}

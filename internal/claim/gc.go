package claim

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"savant/internal/filelock"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// GC removes the files that killed processes left of their claims, and returns their
// number; dry only counts them. It keeps those named in unfinished, which are marks,
// see State. On a system without file locks it removes nothing.
func GC(ctx context.Context, root *os.Root, unfinished []string, dry bool) (removed int, err error) {
	if !filelock.Supported {
		return 0, nil
	}
	entries, err := regular.ReadDir(root, Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, ownfolder.NotRead(Folder, err)
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
			continue // held
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

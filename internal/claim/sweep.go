package claim

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Sweep removes the files of claims that nobody holds, as processes leave them
// that were killed, and returns how many there were; dry only counts them. Each
// is claimed to be removed, as by who lets go: whoever wants it meanwhile waits
// that long. Where there is no flock nothing is known of a claim, and all stay.
func Sweep(ctx context.Context, root *os.Root, dry bool) (abandoned int, err error) {
	if !locks {
		return 0, nil
	}
	entries, err := fs.ReadDir(root.FS(), Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, each := range entries {
		if ctx.Err() != nil {
			return abandoned, context.Cause(ctx)
		}
		if !each.Type().IsRegular() || !strings.HasSuffix(each.Name(), suffix) {
			continue
		}
		if sweep(root, path.Join(Folder, each.Name()), dry) {
			abandoned++
		}
	}
	return abandoned, err
}

// sweep removes one file, unless somebody holds it or was faster.
func sweep(root *os.Root, name string, dry bool) bool {
	held, err := attempt(root, name, os.O_RDWR)
	if err != nil {
		return false
	}
	if dry {
		_ = held.file.Close()
		return true
	}
	held.release()
	return true
}

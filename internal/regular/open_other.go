//go:build !unix

package regular

import (
	"io/fs"
	"os"
)

const nonblocking = 0

// openUnlinked looks for a link, and then opens: these systems have no call for both.
func openUnlinked(root *os.Root, name string, flags int, permission fs.FileMode) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
	}
	return root.OpenFile(name, flags, permission)
}

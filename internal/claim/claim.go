// Package claim keeps things for one process at a time.
package claim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"savant/internal/ownfolder"
)

// ErrTaken says that another process, or somebody else in this one, has it.
var ErrTaken = errors.New("another process has it")

// Folder is where the files of claims are, below Savant's own.
const Folder = ownfolder.State + "/claims"

// suffix ends the names of those files.
const suffix = ".lock"

// Who lets go does so soon, or much later: it is tried a few times.
const (
	tries = 20
	pause = 25 * time.Millisecond
)

// Take claims what a name stands for, until release is called or the process
// has ended. ErrTaken where somebody else has it for longer than half a second.
// Where there is no flock, nobody is kept out.
func Take(ctx context.Context, root *os.Root, name string) (release func(), err error) {
	for _, each := range []string{ownfolder.State, Folder} {
		if err := ownfolder.Mkdir(root, each, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	sum := sha256.Sum256([]byte(name))
	file := path.Join(Folder, hex.EncodeToString(sum[:16])+suffix)
	for range tries {
		held, err := attempt(root, file, os.O_CREATE|os.O_RDWR)
		if err == nil {
			return held.release, nil
		}
		if !errors.Is(err, ErrTaken) {
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return nil, ErrTaken
}

// claimed is a file whose lock is held.
type claimed struct {
	root *os.Root
	name string
	file *os.File
}

// release removes the file while its lock is held, and lets go of it.
func (c claimed) release() {
	_ = c.root.Remove(c.name) // one that stays is taken again
	_ = c.file.Close()
}

// attempt takes the lock of a file, which who lets go removes: a lock on a file
// that is no longer the one of that name counts for nothing.
func attempt(root *os.Root, name string, how int) (claimed, error) {
	file, err := root.OpenFile(name, how, 0o600)
	if err != nil {
		return claimed{}, err
	}
	if err := lock(file); err != nil {
		return claimed{}, errors.Join(err, file.Close())
	}
	held, err := file.Stat()
	if err == nil {
		var named fs.FileInfo
		if named, err = root.Lstat(name); errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(held, named) {
			err = ErrTaken
		}
	}
	if err != nil {
		return claimed{}, errors.Join(err, file.Close())
	}
	return claimed{root, name, file}, nil
}

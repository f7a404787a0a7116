// Package claim provides named locks across processes.
package claim

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"savant/internal/filelock"
	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// ErrTaken says that another process, or another caller in this one, holds the
// claim.
var ErrTaken = errors.New("another process holds the claim")

// Folder holds the lock files of claims, below Savant's own folder.
const Folder = ownfolder.State + "/claims"

const suffix = ".lock"

// patience is how long Take waits for another holder.
const patience = 500 * time.Millisecond

// Take claims a name until release is called or the process ends. It returns ErrTaken
// if another holder keeps the claim for longer than half a second, and the cause of ctx
// when that ends first. On a system without file locks every claim succeeds.
func Take(ctx context.Context, root *os.Root, name string) (release func(), err error) {
	for _, each := range []string{ownfolder.State, Folder} {
		if err := ownfolder.Mkdir(root, each, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	file := fileOf(name)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrTaken)
	defer cancel()
	var held claimed
	err = filelock.Wait(ctx, func() (bool, error) {
		held, err = attempt(root, file, os.O_CREATE|os.O_RDWR)
		return err == nil, notTaken(err)
	})
	return held.release, err
}

// State reports whether a claim is held, and whether its last holder left unfinished
// work because it was killed or called Leave. It creates no file. On a system without
// file locks no claim is reported as held.
func State(root *os.Root, name string) (held, left bool) {
	found, err := attempt(root, fileOf(name), os.O_RDWR)
	if err == nil {
		_ = found.file.Close() // the file stays
	}
	return errors.Is(err, ErrTaken), err == nil
}

// Leave marks the work under a claim as unfinished, like a killed process. The next
// Take removes the mark.
func Leave(root *os.Root, name string) {
	if file, err := root.OpenFile(fileOf(name), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		_ = file.Close()
	}
}

// fileOf is the lock file of a name.
func fileOf(name string) string {
	return path.Join(Folder, jsonvalue.HexSum([]byte(name))[:32]+suffix)
}

// notTaken maps ErrTaken to nil, so that the attempt is repeated.
func notTaken(err error) error {
	if errors.Is(err, ErrTaken) {
		return nil
	}
	return err
}

// claimed is a file whose lock is held.
type claimed struct {
	root *os.Root
	name string
	file *os.File
}

// release removes the file before it releases the lock.
func (c claimed) release() {
	_ = c.root.Remove(c.name) // a remaining file is reused
	_ = c.file.Close()
}

// attempt takes the lock of a file. A holder removes its file on release, so a lock
// counts only if the file still exists under its name; otherwise it is ErrTaken.
func attempt(root *os.Root, name string, flags int) (claimed, error) {
	file, err := regular.Open(root, name, flags, 0o600)
	if err != nil {
		return claimed{}, err
	}
	if err := lockNamed(root, name, file); err != nil {
		return claimed{}, errors.Join(err, file.Close())
	}
	return claimed{root, name, file}, nil
}

func lockNamed(root *os.Root, name string, file *os.File) error {
	locked, err := filelock.TryLock(file, true)
	if err != nil {
		return err
	}
	held, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := root.Lstat(name)
	if !locked || errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(held, named) {
		return ErrTaken
	}
	return err
}

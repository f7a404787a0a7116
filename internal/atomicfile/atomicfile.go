// Package atomicfile replaces files atomically: readers, and the machine after a crash,
// see the old content or the new, never a mixture.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"path"
)

// File is a file being written.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// FS is a file system for atomic replacements. Names are relative and slash-separated.
// Root returns the real one; a test may use one that fails.
type FS interface {
	// Create opens a new file for writing; the name must not exist.
	Create(name string, perm fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncFolder makes the entries of a folder durable.
	SyncFolder(name string) error
}

// Durability says what Replace waits for.
type Durability bool

const (
	// Lazy does not sync. After a crash of the machine the file may be the old one, the
	// new one or damaged, so use it only for data that can be recomputed.
	Lazy Durability = false
	// Durable returns once file and folder entry have reached the disk.
	Durable Durability = true
)

// Write replaces the file name under root with data, durably. The folder must exist. On
// failure the file is unchanged and no temporary file remains.
func Write(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	return Replace(Root(root), name, data, perm, Durable)
}

// Replace is Write on any FS with a chosen durability. If only the sync of the folder
// fails, the new content is in place and the error is returned.
func Replace(target FS, name string, data []byte, perm fs.FileMode, durability Durability) error {
	return ReplaceFrom(target, name, bytes.NewReader(data), perm, durability)
}

// ReplaceFrom is Replace with all that source has.
func ReplaceFrom(target FS, name string, source io.Reader, perm fs.FileMode, durability Durability) error {
	temporary := tempName(name)
	file, err := target.Create(temporary, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	if err == nil && durability == Durable {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = target.Rename(temporary, name)
	}
	if err != nil {
		_ = target.Remove(temporary) // the error before it is the one to report
		return err
	}
	if durability == Durable {
		return target.SyncFolder(path.Dir(name))
	}
	return nil
}

// tempName returns a name in the same folder, so that the rename stays within one file
// system. The leading dot distinguishes it from every name of a run.
func tempName(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()[:10]+".tmp")
}

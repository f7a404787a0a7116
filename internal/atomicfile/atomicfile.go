// Package atomicfile replaces files whole: a reader, another process or the
// machine after a crash sees the old content or the new, never a mixture.
package atomicfile

import (
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

// FS is what an atomic replacement asks of a file system. Names are relative
// and slash-separated. Root gives the real one; a test may give one that fails.
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
	// Lazy leaves the moment of reaching the disk to the operating system.
	// After a crash of the machine the file may be the old one, the new one
	// or damaged: only for what can be computed again.
	Lazy Durability = false
	// Durable returns once file and folder entry have reached the disk.
	Durable Durability = true
)

// Write replaces the file name under root with data, durably. The folder must
// exist. On failure the file is as it was and nothing is left beside it.
func Write(root *os.Root, name string, data []byte, perm fs.FileMode) error {
	return Replace(Root(root), name, data, perm, Durable)
}

// Replace is Write on any file system, durable or not. When only the sync of
// the folder fails the error is returned with the new content in place.
func Replace(target FS, name string, data []byte, perm fs.FileMode, durability Durability) error {
	return ReplaceAll(target, []string{name}, perm, durability, func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
}

// ReplaceAll is Replace of several files that get the same content, which fill
// writes in parts, once. Each file has it wholly or not at all; on failure some
// may have it. The error is that of fill or an fs.PathError with the name of the
// file that could not be replaced.
func ReplaceAll(target FS, names []string, perm fs.FileMode, durability Durability, fill func(io.Writer) error) error {
	made := temporary{target: target, durability: durability}
	err := made.create(names, perm)
	if err == nil {
		err = fill(&made)
	}
	if closeErr := made.close(err == nil); err == nil {
		err = closeErr
	}
	for i := 0; i < len(made.files) && err == nil; i++ {
		file := &made.files[i]
		if err = file.failed(target.Rename(file.temp, file.name)); err == nil {
			file.temp = ""
		}
	}
	made.remove()
	for i := 0; i < len(made.files) && err == nil && durability == Durable; i++ {
		err = made.files[i].failed(target.SyncFolder(path.Dir(names[i])))
	}
	return err
}

// temporary are the files that are to replace others.
type temporary struct {
	target     FS
	durability Durability
	files      []temporaryFile
	size       int64
}

type temporaryFile struct {
	name string
	temp string // empty once it has replaced the other
	File
}

// failed returns an error with the name of the file to be replaced.
func (f *temporaryFile) failed(err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: "replace", Path: f.name, Err: err}
}

func (t *temporary) create(names []string, perm fs.FileMode) error {
	for _, name := range names {
		made := temporaryFile{name: name, temp: tempName(name)}
		var err error
		if made.File, err = t.target.Create(made.temp, perm); err != nil {
			return made.failed(err)
		}
		t.files = append(t.files, made)
	}
	return nil
}

// Write implements io.Writer.
func (t *temporary) Write(data []byte) (int, error) {
	for _, file := range t.files {
		if opened, real := file.File.(*os.File); real && t.durability == Lazy {
			allocate(opened, t.size, len(data))
		}
		if n, err := file.Write(data); err != nil {
			return n, file.failed(err)
		}
	}
	t.size += int64(len(data))
	return len(data), nil
}

// close closes the files, durably where they are whole, and returns the first
// error.
func (t *temporary) close(whole bool) error {
	var first error
	for _, file := range t.files {
		if whole && first == nil && t.durability == Durable {
			first = file.failed(file.Sync())
		}
		if err := file.Close(); first == nil {
			first = file.failed(err)
		}
	}
	return first
}

// remove removes what has replaced nothing.
func (t *temporary) remove() {
	for _, file := range t.files {
		if file.temp != "" {
			_ = t.target.Remove(file.temp) // the error before it is the one to report
		}
	}
}

// tempName returns a name in the same folder, so that the rename stays within
// one file system. The leading dot keeps it apart from every name of a run.
func tempName(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+"."+rand.Text()[:10]+".tmp")
}

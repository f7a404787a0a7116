package index

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"savant/engines/repo/files"
)

const (
	// maxFileBytes is the largest file that is indexed.
	maxFileBytes = 1 << 20
	// binaryProbe is how much of a file is searched for a NUL byte, as git does.
	binaryProbe = 8000
	// maxWorkers bounds how many files are read at once.
	maxWorkers = 4
)

// document is a file made ready to be written.
type document struct {
	file  file
	known *file // as it is in the catalog, or nil
	same  bool  // its content is what the index has
	terms string
}

// read returns a file's content, or why it is not indexed. It opens only regular
// files below the root.
func (ix *Index) read(name string) (text []byte, skipped string) {
	name = filepath.FromSlash(name)
	if info, err := ix.root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, skippedUnreadable
	} else if info.Size() > maxFileBytes {
		return nil, skippedLarge
	}
	opened, err := ix.root.Open(name)
	if err != nil {
		return nil, skippedUnreadable
	}
	defer opened.Close()
	text, err = readBounded(opened)
	switch {
	case err != nil:
		return nil, skippedUnreadable
	case len(text) > maxFileBytes:
		return nil, skippedLarge
	case bytes.IndexByte(text[:min(len(text), binaryProbe)], 0) >= 0:
		return nil, skippedBinary
	}
	return text, ""
}

// has says whether there is a regular file of a name, readable or not.
func (ix *Index) has(name string) bool {
	info, err := ix.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return info.Mode().IsRegular()
}

// readBounded reads a file, one byte more than is indexed at most.
func readBounded(opened fs.File) ([]byte, error) {
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(info.Size(), maxFileBytes)+1)
	length, err := io.ReadFull(opened, text)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return text[:length], nil
	}
	if err != nil || length > maxFileBytes {
		return text[:length], err
	}
	rest, err := io.ReadAll(io.LimitReader(opened, maxFileBytes)) // it grew
	return append(text[:length], rest...), err
}

func hashOf(text []byte) uint64 {
	sum := fnv.New64a()
	sum.Write(text)
	return sum.Sum64()
}

// readAll makes documents of files on several processors, in the order of the
// files. The channel is closed after the last, or when ctx ends; finish waits
// for the readers.
func (ix *Index) readAll(ctx context.Context, candidates []candidate) (documents <-chan document, finish func()) {
	type job struct {
		candidate candidate
		made      chan document
	}
	jobs, ordered, out := make(chan job), make(chan job, 4*maxWorkers), make(chan document)
	var group sync.WaitGroup
	group.Go(func() {
		defer close(jobs)
		defer close(ordered)
		for _, each := range candidates {
			next := job{each, make(chan document, 1)}
			select {
			case ordered <- next:
			case <-ctx.Done():
				return
			}
			jobs <- next
		}
	})
	for range min(runtime.GOMAXPROCS(0), maxWorkers) {
		group.Go(func() {
			r := newReader()
			for each := range jobs {
				each.made <- ix.document(r, each.candidate)
			}
		})
	}
	group.Go(func() {
		defer close(out)
		for each := range ordered {
			select {
			case out <- <-each.made:
			case <-ctx.Done():
			}
		}
	})
	return out, group.Wait
}

func (ix *Index) document(r *reader, each candidate) document {
	text, skipped := ix.read(each.path)
	made := document{known: each.known, file: file{path: each.path, stamp: each.stamp, racy: each.racy, skipped: skipped, hash: hashOf(text)}}
	if known := each.known; known != nil && known.hash == made.file.hash && known.skipped == skipped {
		made.same, made.file.words = true, known.words
		return made
	}
	if skipped == "" {
		terms, words := r.document(each.path, text, files.Language(each.path))
		made.terms, made.file.words = string(terms), words
	}
	return made
}

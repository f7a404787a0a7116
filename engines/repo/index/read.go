package index

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"savant/engines/repo/files"
	"savant/internal/regular"
)

const (
	// maxFileBytes is the largest file that is indexed.
	maxFileBytes = 1 << 20
	// binaryProbe is how many bytes are searched for a NUL byte, as in git.
	binaryProbe = 8000
	// maxWorkers bounds how many files are read at once. readAtOnce is how many are
	// read before the first of them is written.
	maxWorkers = 4
	readAtOnce = 100
)

// document is a file that is ready to be written to the index.
type document struct {
	file  file
	known *file // its entry in the catalog, or nil
	same  bool  // its content has not changed
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
	opened, err := regular.Open(ix.root, name, os.O_RDONLY, 0)
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
	case ix.kept.Holds(filepath.ToSlash(name), text):
		return nil, skippedWithheld
	}
	return text, ""
}

// has reports whether a regular file of this name exists, readable or not.
func (ix *Index) has(name string) bool {
	info, err := ix.root.Lstat(filepath.FromSlash(name))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	return info.Mode().IsRegular()
}

// readBounded reads a file, but only one byte beyond maxFileBytes.
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
	return uint64(crc32.ChecksumIEEE(text))<<32 | uint64(crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

// readAll makes documents of files in parallel. It sends them in the order of the
// files and in chunks, so that reading goes on while a chunk is written. It closes
// the channel after the last one, or when ctx ends.
func (ix *Index) readAll(ctx context.Context, candidates []candidate) <-chan []document {
	out := make(chan []document)
	go func() {
		defer close(out)
		for chunk := range slices.Chunk(candidates, readAtOnce) {
			documents := make([]document, len(chunk))
			files.InParallel(len(chunk), func(i int) { documents[i] = ix.document(chunk[i]) })
			select {
			case out <- documents:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func (ix *Index) document(each candidate) document {
	text, skipped := ix.read(each.path)
	made := document{known: each.known, file: file{path: each.path, stamp: each.stamp, racy: each.racy, skipped: skipped, hash: hashOf(text)}}
	if known := each.known; known != nil && known.hash == made.file.hash && known.skipped == skipped {
		made.same, made.file.words = true, known.words
		return made
	}
	if skipped == "" {
		r := ix.readers.Get().(*reader)
		made.terms, made.file.words = r.termsOf(each.path, text, files.Language(each.path))
		ix.readers.Put(r)
	}
	return made
}

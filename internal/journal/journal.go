// Package journal appends lines to a file and reads them back after a crash.
// What a line holds, and how it proves that it is whole, is its user's.
package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// File is an open journal; *os.File is one.
type File interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// ErrLineRemains is wrapped by the error of an Append whose line may still be in
// the file although it was not acknowledged. Call Recover before the journal
// is read again.
var ErrLineRemains = errors.New("the line may be in the file")

// Append writes a line, which ends in a newline, at the end of a journal. If
// durable is set it returns after one sync; otherwise a crash of the machine
// may lose the line. A line that failed is cut off again.
func Append(file File, end int64, line []byte, durable bool) error {
	_, err := file.WriteAt(line, end)
	if err == nil && durable {
		err = file.Sync()
	}
	if err == nil {
		return nil
	}
	if file.Truncate(end) != nil {
		return errors.Join(err, ErrLineRemains)
	}
	return err
}

// Recover makes a journal of size bytes end durably with its last whole line,
// which begins at last and ends at end. It cuts off a torn line, and writes
// the last line again: if a sync of it failed before, the system may hold the
// line in memory only and count it as written.
func Recover(file File, last, end, size int64) error {
	line := make([]byte, end-last)
	if n, err := file.ReadAt(line, last); n < len(line) {
		return err
	}
	if size > end {
		if err := file.Truncate(end); err != nil {
			return err
		}
	}
	if _, err := file.WriteAt(line, last); err != nil {
		return err
	}
	return file.Sync()
}

// ErrNoNewline is the error of a last line that is whole but for its newline:
// no crash leaves that.
var ErrNoNewline = errors.New("does not end in a newline")

// Read calls visit with each line from an offset up to size, without its
// newline. It leaves out a torn last line: one that a crash may have left of an
// append that was not acknowledged. whole reports whether a line proves itself
// whole, for instance by a checksum. An error of visit ends the reading.
func Read(file io.ReaderAt, from, size int64, whole func(line []byte) bool, visit func(line []byte) error) error {
	reader := bufio.NewReaderSize(io.NewSectionReader(file, from, size-from), int(min(size-from+1, 256<<10)))
	for at := from; at < size; {
		line, err := reader.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) == 0 {
			return nil // somebody cut the file meanwhile
		}
		last := at+int64(len(line)) >= size
		content, ended := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case !ended && whole(line[:len(line)-1]):
			return ErrNoNewline
		case !ended || last && holed(line, at):
			return nil
		}
		if err := visit(content); err != nil {
			return err
		}
		at += int64(len(line))
	}
	return nil
}

// sector is the unit in which a crash may keep or lose what was written, in
// bytes; disks with larger ones lose multiples of it.
const sector = 512

// holed reports whether a line at an offset of its file has zero bytes which
// fill whole sectors, from a sector's start or the line's to a sector's end:
// those that did not reach the disk before the crash.
func holed(line []byte, offset int64) bool {
	found := false
	for i := bytes.IndexByte(line, 0); i >= 0; {
		end := i
		for end < len(line) && line[end] == 0 {
			end++
		}
		if (i > 0 && (offset+int64(i))%sector != 0) || (offset+int64(end))%sector != 0 {
			return false
		}
		found = true
		next := bytes.IndexByte(line[end:], 0)
		if next < 0 {
			break
		}
		i = end + next
	}
	return found
}

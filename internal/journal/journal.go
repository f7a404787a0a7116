// Package journal appends lines to a file and reads them back after a crash. The caller
// defines the content of a line and how to detect a torn write.
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

// ErrLineRemains is wrapped by the error of an Append whose unacknowledged line may
// still be in the file. Call Recover before reading the journal again.
var ErrLineRemains = errors.New("the line may be in the file")

// Append writes a line, which ends in a newline, at the end of a journal: ErrLongLine beyond
// MaxLine. If durable is set it returns after one sync; otherwise a crash of the machine may
// lose the line. A failed line is truncated.
func Append(file File, end int64, line []byte, durable bool) error {
	if len(line) > MaxLine+len("\n") {
		return ErrLongLine
	}
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

// Recover makes a journal of size bytes end durably with its last whole line, which
// begins at last and ends at end. It truncates a torn line, and rewrites the last line:
// after a failed sync, the system may hold the line only in memory and consider it
// written.
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

// ErrNoNewline is the error of a valid last line with another byte in the place of its
// newline, which no crash can cause.
var ErrNoNewline = errors.New("does not end in a newline")

// MaxLine bounds a line without its newline, in bytes.
const MaxLine = 64 << 20

// ErrLongLine is the error of a line beyond MaxLine.
var ErrLongLine = errors.New("is longer than 64 MB")

// Read calls visit with each line from an offset up to size, without its newline. It
// drops a torn last line, the trace of an unacknowledged append. whole reports whether
// a line is valid, for instance by a checksum. An error of visit ends the reading.
func Read(file io.ReaderAt, from, size int64, whole func(line []byte) bool, visit func(line []byte) error) error {
	reader := bufio.NewReaderSize(io.NewSectionReader(file, from, size-from), int(min(size-from+1, 256<<10)))
	for at := from; at < size; {
		line, err := readLine(reader)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(line) == 0 {
			return nil // the file was truncated meanwhile
		}
		end := at + int64(len(line))
		content, ended := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case !ended && line[len(line)-1] == 0 && (end-1)%sector == 0:
			return nil // the newline, alone in its sector, did not reach the disk
		case !ended && whole(line[:len(line)-1]):
			return ErrNoNewline
		case !ended || end >= size && holed(line, at):
			return nil
		}
		if err := visit(content); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// readLine reads up to a newline, or the end.
func readLine(reader *bufio.Reader) (line []byte, err error) {
	for len(line) <= MaxLine {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
	return nil, ErrLongLine
}

// sector is the unit of loss in a crash, in bytes; larger sectors are multiples of it.
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

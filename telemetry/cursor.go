package telemetry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// Cursor is a position in the trace: how far each of its files was read; the last entry
// is the current file. The zero Cursor is before the first event that is left.
type Cursor struct{ read []readUpTo }

// readUpTo is how far a file was read. A file is identified by its first line, which
// survives a rename; the lines' timestamps make it unique.
type readUpTo struct {
	file string
	at   int64
}

// idLength is how many bytes of a digest identify a file.
const idLength = 8

// offset returns how far a file was read.
func (c Cursor) offset(file string) (int64, bool) {
	for _, each := range c.read {
		if each.file == file {
			return each.at, true
		}
	}
	return 0, false
}

// move sets how far a file was read.
func (c *Cursor) move(file string, at int64) {
	i := slices.IndexFunc(c.read, func(each readUpTo) bool { return each.file == file })
	if i < 0 {
		c.read = append(c.read, readUpTo{file: file})
		i = len(c.read) - 1
	}
	c.read[i].at = at
}

// Files returns the ids of the files that existed at the cursor's last move.
func (c Cursor) Files() []string {
	names := make([]string, len(c.read))
	for i, each := range c.read {
		names[i] = each.file
	}
	return names
}

// ReadRun calls each for the lines of a run in the trace, oldest first. A line is only
// valid during the call.
func (r *Recorder) ReadRun(run string, each func(e Event, line []byte)) error {
	_, err := r.Lines(new(Cursor), func(_ Place, line []byte) bool {
		var e Event
		if bytes.Contains(line, []byte(run)) && json.Unmarshal(line, &e) == nil && e.RunID == run {
			each(e, line)
		}
		return true
	})
	return err
}

// Lines calls each for the lines after a cursor, of all processes, oldest file first,
// until each returns false. It moves the cursor past each line. A line is only valid
// during the call. An incomplete last line is left for the next time, and an overlong
// line is skipped. lost means that the cursor's file no longer exists, so that events
// may be missing: the trace keeps only one rotated file. Then nothing is read, and the
// cursor moves before the first event that is left.
func (r *Recorder) Lines(c *Cursor, each func(at Place, line []byte) bool) (lost bool, err error) {
	files, err := r.traceFiles()
	if err != nil {
		return false, err
	}
	defer files.close()
	now := Cursor{}
	for _, file := range files {
		if at, known := c.offset(file.id); known {
			now.move(file.id, at)
		}
	}
	if count := len(c.read); count > 0 { // those before the last were read to their end
		if _, still := now.offset(c.read[count-1].file); !still {
			*c = Cursor{}
			return true, nil
		}
	}
	*c = now
	for _, file := range files {
		if more, err := file.readAfter(c, each); err != nil || !more {
			return false, err
		}
	}
	return false, nil
}

// traceFile is an open trace file.
type traceFile struct {
	*os.File
	name string // relative to SAVANT_PATH
	id   string
}

type openTraces []traceFile

func (files openTraces) close() {
	for _, each := range files {
		_ = each.Close() // it was only read
	}
}

// traceFiles opens the files that have a complete line, oldest first. A file that is
// rotated meanwhile is opened once.
func (r *Recorder) traceFiles() (files openTraces, err error) {
	if r == nil || r.options.Root == nil {
		return nil, nil
	}
	names := []string{TraceFile, r.options.path(TraceFile)}
	for _, name := range slices.Compact(names) {
		// The newer file is opened first: if it is rotated in between, it is opened
		// twice rather than missed.
		pair := openTraces{}
		for _, each := range []string{name, name + ".1"} {
			file, err := regular.Open(r.options.Root, each, os.O_RDONLY, 0)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				pair.close()
				files.close()
				return nil, ownfolder.NotRead(each, err)
			}
			id, whole := identityOf(file)
			if !whole || slices.ContainsFunc(slices.Concat(files, pair), func(other traceFile) bool { return other.id == id }) {
				_ = file.Close() // it was only read
				continue
			}
			pair = append(pair, traceFile{file, each, id})
		}
		slices.Reverse(pair)
		files = append(files, pair...)
	}
	return files, nil
}

// identityOf returns the id of a trace file, from its first line; false if it has no
// complete line.
func identityOf(f io.ReaderAt) (string, bool) {
	first := make([]byte, 4096)
	n, err := f.ReadAt(first, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", false
	}
	end := bytes.IndexByte(first[:n], '\n')
	if end < 0 && n < len(first) {
		return "", false
	}
	if end < 0 {
		end = n // the first part is enough
	}
	return jsonvalue.HexSum(first[:end])[:2*idLength], true
}

// readAfter reads the complete lines after the cursor; more is false once each returned
// false. Overlong lines are skipped.
func (f traceFile) readAfter(c *Cursor, each func(Place, []byte) bool) (more bool, err error) {
	at, _ := c.offset(f.id)
	c.move(f.id, at)
	lines := bufio.NewReaderSize(io.NewSectionReader(f, at, 1<<62), 2*maxLine)
	for long := false; ; {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return true, nil // the rest is not a complete line
		case errors.Is(err, bufio.ErrBufferFull):
			at += int64(len(line))
			long = true
			continue
		case err != nil:
			return false, ownfolder.NotRead(f.name, err)
		}
		place := Place{File: f.id, At: at, Length: len(line)}
		at += int64(len(line))
		c.move(f.id, at)
		if !long && !each(place, line) {
			return false, nil
		}
		long = false
	}
}

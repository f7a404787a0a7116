package telemetry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"savant/internal/jsonvalue"
	"savant/internal/ownfolder"
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

// Since calls each for the events of a run after a cursor, as Lines does.
func (r *Recorder) Since(c *Cursor, run string, each func(e Event, line []byte) bool) (lost bool, err error) {
	return r.Lines(c, func(_ Place, line []byte) bool {
		var e Event
		return !bytes.Contains(line, []byte(run)) || json.Unmarshal(line, &e) != nil || e.RunID != run || each(e, line)
	})
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

// knownTrace is an open trace file with its identity.
type knownTrace struct {
	traceFile
	id string
}

type knownTraces []knownTrace

func (files knownTraces) close() {
	for _, each := range files {
		each.close()
	}
}

// traceFiles opens the files that have a complete line, oldest first. A file that is
// rotated meanwhile is opened once.
func (r *Recorder) traceFiles() (files knownTraces, err error) {
	if r == nil || r.options.Root == nil {
		return nil, nil
	}
	names := []string{TraceFile, r.options.path(TraceFile)}
	for _, name := range slices.Compact(names) {
		// The newer file is opened first: if it is rotated in between, it is opened
		// twice rather than missed.
		pair := knownTraces{}
		for _, each := range []string{name, name + ".1"} {
			opened, err := openTrace(r.options.Root, each)
			if err != nil {
				pair.close()
				files.close()
				return nil, err
			}
			id, whole := opened.identity()
			if !whole || slices.ContainsFunc(slices.Concat(files, pair), func(other knownTrace) bool { return other.id == id }) {
				opened.close()
				continue
			}
			pair = append(pair, knownTrace{opened, id})
		}
		slices.Reverse(pair)
		files = append(files, pair...)
	}
	return files, nil
}

// identity returns the file's id, from its first line; false if it has no complete
// line.
func (f traceFile) identity() (string, bool) {
	if f.File == nil {
		return "", false
	}
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
func (f knownTrace) readAfter(c *Cursor, each func(Place, []byte) bool) (more bool, err error) {
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

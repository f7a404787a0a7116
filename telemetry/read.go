package telemetry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// Written calls each for the lines of a run in the trace file and the rotated one,
// oldest first. A line is only valid during the call.
func (r *Recorder) Written(run string, each func(e Event, line []byte)) error {
	if r == nil || r.options.Root == nil {
		return nil
	}
	if current := r.options.in(TraceFile); current != TraceFile { // older versions always wrote there
		if err := r.written(TraceFile, run, each); err != nil {
			return err
		}
		return r.written(current, run, each)
	}
	return r.written(TraceFile, run, each)
}

// written reads one trace file and its rotated predecessor.
func (r *Recorder) written(file, run string, each func(e Event, line []byte)) error {
	// The newer file is opened first: if it is rotated in between, it is opened twice
	// rather than missed.
	newer, err := openTrace(r.options.Root, file)
	if err != nil {
		return err
	}
	defer newer.close()
	older, err := openTrace(r.options.Root, file+".1")
	if err != nil {
		return err
	}
	defer older.close()
	if !older.same(newer) {
		err = older.read(run, each)
	}
	return errors.Join(err, newer.read(run, each))
}

// traceFile is an open trace file; File is nil if it does not exist.
type traceFile struct {
	*os.File
	name string // relative to SAVANT_PATH
}

func openTrace(root *os.Root, name string) (traceFile, error) {
	file, err := regular.Open(root, name, os.O_RDONLY, 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return traceFile{}, ownfolder.NotRead(name, err)
	}
	return traceFile{file, name}, nil
}

func (f traceFile) close() {
	if f.File != nil {
		_ = f.Close() // it was only read
	}
}

func (f traceFile) same(other traceFile) bool {
	if f.File == nil || other.File == nil {
		return false
	}
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	theirs, err := other.Stat()
	return err == nil && os.SameFile(ours, theirs)
}

// read skips lines that are too long or not JSON, such as a torn last line.
func (f traceFile) read(run string, each func(Event, []byte)) error {
	if f.File == nil {
		return nil
	}
	lines := bufio.NewReaderSize(f, 2*maxLine)
	for long := false; ; {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			long = true
			continue
		case err != nil:
			return ownfolder.NotRead(f.name, err)
		}
		var e Event
		if !long && bytes.Contains(line, []byte(run)) && json.Unmarshal(line, &e) == nil && e.RunID == run {
			each(e, line)
		}
		long = false
	}
}

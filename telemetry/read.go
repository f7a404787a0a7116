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
)

// Written calls each for the lines of the trace files that tell of a run, the
// oldest first; a line is only valid during the call. What was moved aside twice
// is gone.
func (r *Recorder) Written(run string, each func(e Event, line []byte)) error {
	if r == nil || r.options.Root == nil {
		return nil
	}
	// The newer is opened first: when it is moved meanwhile, it is opened twice
	// and not missed.
	newer, err := openTrace(r.options.Root, TraceFile)
	if err != nil {
		return err
	}
	defer newer.close()
	older, err := openTrace(r.options.Root, TraceFile+".1")
	if err != nil {
		return err
	}
	defer older.close()
	if !older.same(newer) {
		err = older.read(run, each)
	}
	return errors.Join(err, newer.read(run, each))
}

// traceFile is a file of the trace; one that is not there has no lines.
type traceFile struct {
	*os.File
	name string // relative to SAVANT_PATH
}

func openTrace(root *os.Root, name string) (traceFile, error) {
	file, err := root.Open(name)
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

// read passes over what is no line of the trace: one that is too long, and what
// a crash left of the last.
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

package telemetry

import (
	"errors"
	"io/fs"
	"os"

	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// ReadRun calls each for the lines of a run in the trace, oldest first. A line is only
// valid during the call.
func (r *Recorder) ReadRun(run string, each func(e Event, line []byte)) error {
	_, err := r.Since(new(Cursor), run, func(e Event, line []byte) bool {
		each(e, line)
		return true
	})
	return err
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

package mcpio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// errLineTooLong is reported once for each line beyond the limit; reading goes
// on with the next line.
var errLineTooLong = errors.New("line too long")

// line is what a read gave: data, errLineTooLong, or the error that ended the
// stream (io.EOF when it ended well).
type line struct {
	data []byte
	err  error
}

// lineReader reads lines of at most limit bytes. A longer line is discarded as
// it comes, so no more than the limit is ever held.
type lineReader struct {
	in    *bufio.Reader
	limit int
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), limit: limit}
}

// next returns the next line without its end (LF or CRLF). The slice is the
// caller's. A last line without an end counts, and is followed by io.EOF.
func (r *lineReader) next() ([]byte, error) {
	var data []byte
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(data)+len(part) > r.limit+len("\r\n") {
			tooLong, data = true, nil
		}
		if !tooLong {
			data = append(data, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong:
			return nil, errLineTooLong
		case err != nil && (len(data) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		}
		data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
		if len(data) > r.limit {
			return nil, errLineTooLong
		}
		return data, nil
	}
}

// pump sends every line to the channel, then the error that ended the stream,
// and closes the channel. It ends early with ctx, as far as the stream allows:
// a blocked Read is left to whoever closes the stream.
func (r *lineReader) pump(ctx context.Context, lines chan<- line) {
	defer close(lines)
	for {
		data, err := r.next()
		select {
		case lines <- line{data, err}:
		case <-ctx.Done():
			return
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
	}
}

// lineWriter writes whole lines, one Write each, from any goroutine.
type lineWriter struct {
	mu     sync.Mutex
	out    io.Writer
	closed atomic.Bool
}

// errClosed is returned for lines written after the end.
var errClosed = errors.New("the stream has ended")

func (w *lineWriter) write(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return errClosed
	}
	_, err := w.out.Write(data)
	return err
}

// close drops what is written from now on. It does not wait for a Write that
// is blocked: a client that no longer reads must not delay the end.
func (w *lineWriter) close() { w.closed.Store(true) }

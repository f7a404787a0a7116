package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// ErrLineTooLong is reported once for each line beyond the limit. Reading continues
// with the next line.
var ErrLineTooLong = errors.New("line too long")

// ByteOrderMark is what some Windows programs begin a stream with. RFC 8259,
// section 8.1, allows a reader to ignore it.
var ByteOrderMark = []byte("\ufeff")

// Reader reads lines of at most limit bytes. A longer line is discarded while
// it is read, so memory never holds more than the limit.
type Reader struct {
	in      *bufio.Reader
	limit   int
	begun   []byte // the line that is being read
	tooLong bool
}

// NewReader returns a Reader of in. The limit is in bytes, without the line
// end.
func NewReader(in io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10), limit: limit}
}

// Next returns the next line without its end (LF or CRLF). The slice belongs
// to the caller. A last line without an end counts and is followed by io.EOF. Beside
// another error of in stands the beginning of a line, which belongs to the Reader: a later
// Next goes on with it.
func (r *Reader) Next() ([]byte, error) {
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.begun)+len(part) > r.limit+len("\r\n") {
			r.tooLong, r.begun = true, nil
		}
		if !r.tooLong {
			r.begun = append(r.begun, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return r.begun, err
		}
		data, tooLong := r.begun, r.tooLong
		r.begun, r.tooLong = nil, false
		data = bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r"))
		switch {
		case tooLong || len(data) > r.limit:
			return nil, ErrLineTooLong
		case err != nil && len(data) == 0:
			return nil, err
		}
		return data, nil
	}
}

// Drop forgets the beginning of a line.
func (r *Reader) Drop() { r.begun = nil }

// Writer writes lines, one Write each. It is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	out    io.Writer
	failed func(error)
	closed atomic.Bool
}

// NewWriter returns a Writer to out. failed, which may be nil, is called with the error
// of each message that could not be written.
func NewWriter(out io.Writer, failed func(error)) *Writer { return &Writer{out: out, failed: failed} }

// ErrClosed is returned for lines written after Close.
var ErrClosed = errors.New("the stream has ended")

// ErrEncoding is the cause of a message that was not written because it does
// not marshal.
var ErrEncoding = errors.New("the message does not marshal")

// Write writes a message. A nil message writes nothing.
func (w *Writer) Write(message any) (err error) {
	if message == nil {
		return nil
	}
	defer func() {
		if err != nil && w.failed != nil {
			w.failed(err)
		}
	}()
	line, err := Encode(message)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed.Load() {
		return ErrClosed
	}
	_, err = w.out.Write(append(line, '\n'))
	return err
}

// Close discards later messages. It does not wait for a blocked Write, so that a client
// that stopped reading cannot delay shutdown.
func (w *Writer) Close() { w.closed.Store(true) }

// Package eventstream reads server-sent events.
package eventstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// Event is one event of a stream.
type Event struct {
	// Text is its data, with the lines that have no field: some servers forget it.
	Text []byte
	ID   string
	// Retry is how long the server asks to wait before the stream is opened again.
	Retry time.Duration
}

var byteOrderMark = []byte("\ufeff")

// Reader reads a stream of events. A server may end lines in CR, LF or CRLF and begin
// with a byte order mark (HTML, 9.2.6 "Interpreting an event stream"). A CR ends a line at
// once, so that no event waits for the next byte.
type Reader struct {
	in      *bufio.Reader
	begun   bool
	afterCR bool // the last byte was CR: an LF that follows ends the same line
	quiet   int  // the bytes since the last data line
}

// NewReader returns a Reader of a body.
func NewReader(body io.Reader) *Reader { return &Reader{in: bufio.NewReader(body)} }

// maxQuiet is how many bytes without data a stream may send. Keep-alive comments
// take years to reach it.
const maxQuiet = 1 << 20

// ErrQuiet ends a stream that sends bytes but no events.
var ErrQuiet = errors.New("the event stream has no events")

// Next returns the next event. With an error, the event is what the stream ended with.
func (e *Reader) Next() (found Event, err error) {
	for {
		line, err := e.line()
		name, value, isField := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case isField && string(name) == "data":
			found.Text = append(append(found.Text, bytes.TrimPrefix(value, byteOrderMark)...), '\n')
		case isField && string(name) == "id":
			found.ID = string(value)
		case isField && string(name) == "retry":
			wait, _ := strconv.ParseUint(string(value), 10, 31)
			found.Retry = time.Duration(wait) * time.Millisecond
		case isField && (len(name) == 0 || string(name) == "event"):
		default:
			found.Text = append(append(found.Text, line...), '\n')
		}
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			found.Text = bytes.TrimSpace(found.Text)
			return found, err
		}
	}
}

// line returns the next line without its end.
func (e *Reader) line() (line []byte, err error) {
	if !e.begun {
		e.begun = true
		if start, _ := e.in.Peek(len(byteOrderMark)); bytes.Equal(start, byteOrderMark) {
			e.skip(len(start))
		}
	}
	for {
		if _, err := e.in.Peek(1); err != nil {
			return line, err
		}
		part, _ := e.in.Peek(e.in.Buffered())
		if e.afterCR && part[0] == '\n' {
			e.skip(1)
			e.afterCR = false
			continue
		}
		e.afterCR = false
		end := bytes.IndexAny(part, "\r\n")
		read := part[:max(end, 0)]
		if end < 0 {
			read = part
		}
		line = append(line, read...)
		if e.quiet += len(read) + 1; bytes.HasPrefix(line, []byte("data:")) {
			e.quiet = 0
		}
		if e.quiet > maxQuiet {
			return nil, ErrQuiet
		}
		if end < 0 {
			e.skip(len(read))
			continue
		}
		e.afterCR = part[end] == '\r'
		e.skip(end + 1)
		return line, nil
	}
}

// skip takes what has been peeked at.
func (e *Reader) skip(n int) { _, _ = e.in.Discard(n) }

package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"

	"savant/internal/jsonrpc"
)

// eventLines reads an event stream and ends its lines in LF. A server may end
// them in CR, LF or CRLF and begin with a byte order mark (HTML, 9.2.5 "Parsing
// an event stream"); mcp-go reads LF and CRLF only. A CR ends a line at once, so
// that no event waits for the byte that follows.
type eventLines struct {
	in      *bufio.Reader
	body    io.Closer
	begun   bool
	afterCR bool // the last byte was CR: an LF that follows ends the same line
	// quiet counts the bytes since the last line of data. matched is how much of the
	// word data the current line begins with; -1: it begins otherwise.
	quiet, matched int
	silent         func() // told when the stream is ended for that; may be nil
}

// maxQuiet is how many bytes without an event a stream may have. Comments that keep
// a connection open have that many in years.
const maxQuiet = 1 << 20

// errQuiet ends a stream that sends and has no events.
var errQuiet = errors.New("the event stream has no events")

// withEventLines replaces the body of an event stream by one that mcp-go can read.
func withEventLines(response *http.Response, silent func()) {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil && kind == "text/event-stream" {
		response.Body = &eventLines{in: bufio.NewReader(response.Body), body: response.Body, silent: silent}
	}
}

func (e *eventLines) Read(into []byte) (int, error) {
	if !e.begun {
		e.begun = true
		e.skipMark()
	}
	for {
		n, err := e.in.Read(into)
		if n = e.normalize(into[:n]); e.listen(into[:n]) {
			if e.silent != nil {
				e.silent()
			}
			return 0, errQuiet
		}
		if n > 0 || err != nil || len(into) == 0 {
			return n, err
		}
	}
}

// listen counts what was read outside of lines of data, and reports whether it is too
// much.
func (e *eventLines) listen(read []byte) bool {
	const field = "data"
	for _, each := range read {
		switch {
		case each == '\n':
			e.matched = 0
		case e.matched == len(field): // within a line of data
			e.quiet = 0
			continue
		case e.matched >= 0 && each == field[e.matched]:
			e.matched++
		default:
			e.matched = -1
		}
		e.quiet++
	}
	return e.quiet > maxQuiet
}

func (e *eventLines) Close() error { return e.body.Close() }

// skipMark passes over the byte order mark. No event is shorter than it, so none
// waits; an error of the stream comes again with the next read.
func (e *eventLines) skipMark() {
	if start, _ := e.in.Peek(len(jsonrpc.ByteOrderMark)); bytes.Equal(start, jsonrpc.ByteOrderMark) {
		_, _ = e.in.Discard(len(jsonrpc.ByteOrderMark)) // it is in the buffer
	}
}

// normalize writes LF for each end of a line, in place, and returns how many
// bytes are left.
func (e *eventLines) normalize(data []byte) int {
	if !e.afterCR && bytes.IndexByte(data, '\r') < 0 {
		return len(data)
	}
	kept := 0
	for _, each := range data {
		second := e.afterCR && each == '\n'
		e.afterCR = each == '\r'
		if second {
			continue
		}
		if e.afterCR {
			each = '\n'
		}
		data[kept] = each
		kept++
	}
	return kept
}

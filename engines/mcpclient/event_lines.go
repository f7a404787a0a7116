package mcpclient

import (
	"bufio"
	"bytes"
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
}

// withEventLines replaces the body of an event stream by one that mcp-go can read.
func withEventLines(response *http.Response) {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil && kind == "text/event-stream" {
		response.Body = &eventLines{in: bufio.NewReader(response.Body), body: response.Body}
	}
}

func (e *eventLines) Read(into []byte) (int, error) {
	if !e.begun {
		e.begun = true
		e.skipMark()
	}
	for {
		n, err := e.in.Read(into)
		if n = e.normalize(into[:n]); n > 0 || err != nil || len(into) == 0 {
			return n, err
		}
	}
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

package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"savant/internal/jsonrpc"
)

// eventLines reads an event stream and normalizes its line ends to LF. A server may end
// lines in CR, LF or CRLF and begin with a byte order mark (HTML, 9.2.5 "Parsing an
// event stream"), but mcp-go accepts only LF and CRLF. A CR ends a line at once, so
// that no event waits for the next byte.
type eventLines struct {
	in      *bufio.Reader
	body    io.Closer
	begun   bool
	afterCR bool // the last byte was CR: an LF that follows ends the same line
	// quiet counts the bytes since the last data line. matched counts how many letters
	// of the field name "data" the current line begins with; -1: it is another field.
	quiet, matched int
	silent         func() // called when the stream is ended because of errQuiet; may be nil
}

// maxQuiet is how many bytes without an event a stream may send. Keep-alive comments
// take years to reach it.
const maxQuiet = 1 << 20

// errQuiet ends a stream that sends bytes but no events.
var errQuiet = errors.New("the event stream has no events")

// withEventLines replaces the body of an event stream with one that mcp-go can read.
func withEventLines(response *http.Response, silent func(), skip func(text []byte) bool) {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil && kind == "text/event-stream" {
		lines := &eventLines{in: bufio.NewReader(response.Body), body: response.Body, silent: silent}
		response.Body = &dataLines{in: bufio.NewReader(lines), Closer: lines, skip: skip}
	}
}

// dataLines reads the events of a stream and makes the answers in them ones that mcp-go
// reads: of a batch of one, with NaN, over several lines, without a blank line at the end.
type dataLines struct {
	io.Closer
	in   *bufio.Reader
	skip func(text []byte) (broken bool) // is given what is no message; broken ends the stream
	rest []byte                          // of the current event
	err  error                           // after it
}

func (d *dataLines) Read(into []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		d.rest, d.err = d.event()
	}
	n := copy(into, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// errBroken ends a stream with a message that cannot be read.
var errBroken = errors.New("an event of the stream is not JSON")

// event returns the next event, up to its blank line or the end of the stream.
func (d *dataLines) event() ([]byte, error) {
	var whole, fields, text []byte // the event; its lines that are no data; its data and lines without a field
	usual := false                 // all of text is data
	for {
		line, err := d.in.ReadBytes('\n')
		whole = append(whole, line...)
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case isData:
			usual = usual || len(text) == 0
			text = append(append(text, bytes.TrimSpace(data)...), '\n')
		case isField(line):
			fields = append(fields, line...)
		default:
			usual = usual && len(bytes.TrimSpace(line)) == 0
			text = append(text, line...)
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			continue
		}
		if text = bytes.TrimSpace(text); len(text) == 0 || usual && json.Valid(text) && text[0] == '{' && err == nil {
			return whole, err
		}
		if answer := answersIn(text); answer != nil {
			var compact bytes.Buffer
			if json.Compact(&compact, answer) == nil {
				return append(append(append(fields, "data: "...), compact.Bytes()...), "\n\n"...), err
			}
		}
		if messagesIn(text) == nil && d.skip(text) {
			return nil, errBroken
		}
		return whole, err
	}
}

// isField reports whether a line is one of an event that has no data, or a comment.
func isField(line []byte) bool {
	for _, each := range []string{":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(each)) {
			return true
		}
	}
	return false
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

// listen counts the bytes outside of data lines and reports whether they exceed
// maxQuiet.
func (e *eventLines) listen(read []byte) bool {
	const field = "data"
	for _, each := range read {
		switch {
		case each == '\n':
			e.matched = 0
		case e.matched == len(field): // within a data line
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

// skipMark skips the byte order mark. Peeking delays no event, since none is shorter
// than the mark; an error of the stream comes again with the next read.
func (e *eventLines) skipMark() {
	if start, _ := e.in.Peek(len(jsonrpc.ByteOrderMark)); bytes.Equal(start, jsonrpc.ByteOrderMark) {
		_, _ = e.in.Discard(len(jsonrpc.ByteOrderMark)) // it is in the buffer
	}
}

// normalize replaces each line end by LF, in place, and returns the new length.
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

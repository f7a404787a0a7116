package state

import (
	"bytes"
	"strconv"
)

// headLength is enough for the fields of a record before its data: they are
// all bounded, the two names (128 bytes each) being the longest.
const headLength = 1024

// headOf returns the fields of a record before its data, or those of a
// snapshot before its state, as far as they are there; the text may be cut
// anywhere. Nothing is verified. A listing reads thousands of heads, which
// encoding/json would make its main cost.
func headOf(text []byte) Record {
	var head Record
	rest := text[:min(len(text), headLength)]
	for {
		name, value, after, ok := field(rest)
		if !ok {
			return head
		}
		head.set(string(name), string(value))
		rest = after
	}
}

// field reads one field whose value is a number or a string without escapes,
// and returns its value without quotes.
func field(text []byte) (name, value, after []byte, ok bool) {
	text = bytes.TrimLeft(text, "{, \n")
	name, text, ok = quoted(text)
	if !ok || len(text) == 0 || text[0] != ':' {
		return nil, nil, nil, false
	}
	text = bytes.TrimLeft(text[1:], " ")
	if value, after, ok = quoted(text); ok {
		return name, value, after, true
	}
	after = bytes.TrimLeft(text, "0123456789")
	value = text[:len(text)-len(after)]
	return name, value, after, len(value) > 0
}

func quoted(text []byte) (content, after []byte, ok bool) {
	text, ok = bytes.CutPrefix(text, []byte(`"`))
	if !ok {
		return nil, nil, false
	}
	content, after, ok = bytes.Cut(text, []byte(`"`))
	return content, after, ok && !bytes.Contains(content, []byte(`\`))
}

// set fills one field of a head; others are passed over.
func (r *Record) set(name, value string) {
	switch name {
	case "format":
		r.Format, _ = strconv.Atoi(value)
	case "version":
		r.Version, _ = strconv.Atoi(value)
	case "workflow":
		r.Workflow = value
	case "run":
		r.Run = value
	case "kind":
		r.Kind = value
	case "time":
		r.Time = value
	case "status":
		r.Status = value
	}
}

package state

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// headLength is enough for the fields of a record before its data: they are
// all bounded, the two names (128 bytes each) being the longest.
const headLength = 1024

// headOf returns the fields of a line before its data, as far as they are
// there; the line may be cut anywhere. Nothing is verified.
func headOf(line []byte) Record {
	var head Record
	decoder := json.NewDecoder(bytes.NewReader(line[:min(len(line), headLength)]))
	_, _ = decoder.Token() // the opening brace; without it the next fails
	for {
		name, err := decoder.Token()
		if err != nil || name == "data" {
			return head
		}
		value, err := decoder.Token()
		if err != nil {
			return head
		}
		head.set(name, value)
	}
}

// set fills one field of a head; others are passed over.
func (r *Record) set(name, value json.Token) {
	switch v := value.(type) {
	case float64:
		if name == "version" {
			r.Version = int(v)
		}
	case string:
		switch name {
		case "workflow":
			r.Workflow = v
		case "run":
			r.Run = v
		case "kind":
			r.Kind = v
		case "time":
			r.Time = v
		case "status":
			r.Status = v
		}
	}
}

// formatOf returns the format number a journal begins with, 0 where it does
// not begin as one.
func formatOf(line []byte) int {
	rest, ok := bytes.CutPrefix(line, []byte(formatField))
	if !ok {
		return 0
	}
	digits := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(rest)
	}
	format, _ := strconv.Atoi(string(rest[:digits]))
	return format
}

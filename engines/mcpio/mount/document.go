package mount

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"savant/fault"
)

// maxConfig is the largest file of servers that is read, in bytes.
const maxConfig = 1 << 20

// value is a JSON value that knows where it stands. Its kind is that of
// json.Delim, or of the Go type of its scalar.
type value struct {
	offset  int
	scalar  any // string, json.Number, bool or nil
	object  bool
	array   bool
	members []member
	items   []value
}

// member is one key of an object, as it stands in the text.
type member struct {
	key    string
	offset int
	value  value
}

// document is a JSON text being read.
type document struct {
	file    string
	data    []byte
	decoder *json.Decoder
}

// read parses one JSON text, which may begin with a byte order mark as some
// editors write it; the error says file, line and column.
func read(file string, data []byte) (*document, value, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := &document{file: file, data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	d.decoder.UseNumber()
	if len(data) > maxConfig {
		return d, value{}, fault.New(fault.LimitExceeded, "%s has more than %d bytes", file, maxConfig)
	}
	root, err := d.value()
	if err == nil {
		if _, more := d.decoder.Token(); !errors.Is(more, io.EOF) {
			return d, value{}, d.wrong(d.start(), "", "something follows the JSON value")
		}
		return d, root, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at := int(syntax.Offset) - 1 // it counts the byte that is wrong
		if syntax.Offset == d.decoder.InputOffset() {
			at = d.start() // but not so between tokens
		}
		return d, value{}, d.wrong(at, "", "not JSON: "+err.Error())
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return d, value{}, d.wrong(len(data), "", "not JSON: it ends too early")
	}
	return d, value{}, err
}

// start is where the next token begins.
func (d *document) start() int {
	at := int(d.decoder.InputOffset())
	for at < len(d.data) && strings.IndexByte(" \t\r\n,:", d.data[at]) >= 0 {
		at++
	}
	return at
}

func (d *document) value() (value, error) {
	made := value{offset: d.start()}
	token, err := d.decoder.Token()
	if err != nil {
		return made, err
	}
	switch token {
	case json.Delim('{'):
		made.object = true
		err = d.members(&made)
	case json.Delim('['):
		made.array = true
		err = d.items(&made)
	default:
		made.scalar = token
	}
	return made, err
}

func (d *document) members(into *value) error {
	for d.decoder.More() {
		next := member{offset: d.start()}
		token, err := d.decoder.Token()
		if err != nil {
			return err
		}
		next.key, _ = token.(string)
		if next.value, err = d.value(); err != nil {
			return err
		}
		into.members = append(into.members, next)
	}
	_, err := d.decoder.Token()
	return err
}

func (d *document) items(into *value) error {
	for d.decoder.More() {
		item, err := d.value()
		if err != nil {
			return err
		}
		into.items = append(into.items, item)
	}
	_, err := d.decoder.Token()
	return err
}

// wrong returns an error at a place of the text.
func (d *document) wrong(offset int, path, message string) *fault.Error {
	offset = min(max(offset, 0), len(d.data))
	before := d.data[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	return fault.New(fault.InvalidParams, "%s: %s", d.file, message).With(fault.Diagnostic{
		File: d.file, Path: path, Line: line, Column: column, Message: message})
}

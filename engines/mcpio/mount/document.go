package mount

import (
	"bytes"
	"errors"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// maxConfig is the maximum size of the file of servers, in bytes.
const maxConfig = 1 << 20

// document is a JSON text written by a person.
type document struct {
	file string
	data []byte
}

// read parses a JSON text, which may begin with a byte order mark. The error contains
// file, line and column.
func read(file string, data []byte) (*document, jsonvalue.Node, error) {
	d := &document{file: file, data: bytes.TrimPrefix(data, []byte("\ufeff"))}
	if len(d.data) > maxConfig {
		return d, jsonvalue.Node{}, fault.New(fault.LimitExceeded, "%s has more than %d bytes", file, maxConfig)
	}
	root, err := jsonvalue.Read(d.data)
	var placed *jsonvalue.Error
	if errors.As(err, &placed) {
		return d, root, d.wrong(placed.Offset, "", "not JSON: "+placed.Error())
	}
	return d, root, err
}

// wrong returns an error at a position of the text.
func (d *document) wrong(offset int, path, message string) *fault.Error {
	line, column := jsonvalue.Place(d.data, offset)
	return fault.New(fault.InvalidParams, "%s: %s", d.file, message).With(fault.Diagnostic{
		File: d.file, Path: path, Line: line, Column: column, Message: message})
}

func isObject(v jsonvalue.Node) bool { return v.Raw[0] == '{' }

// decode decodes a value into a Go value. It refuses null at any depth.
func decode(v jsonvalue.Node, into any) bool {
	return !hasNull(v) && jsonvalue.Unmarshal(v.Raw, into) == nil
}

func hasNull(v jsonvalue.Node) bool {
	return v.Raw[0] == 'n' || slices.ContainsFunc(v.Items, hasNull) ||
		slices.ContainsFunc(v.Members, func(m jsonvalue.NodeMember) bool { return hasNull(m.Value) })
}

package mount

import (
	"bytes"
	"errors"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// document is the text of the file of servers, which a person wrote.
type document []byte

// read parses the text, which may begin with a byte order mark. The error contains file,
// line and column.
func read(data []byte) (document, jsonvalue.Node, error) {
	d := document(bytes.TrimPrefix(data, []byte("\ufeff")))
	root, err := jsonvalue.Read(d)
	var placed *jsonvalue.Error
	if errors.As(err, &placed) {
		err = d.wrong(placed.Offset, "", "not JSON: "+placed.Error())
	}
	return d, root, err
}

// wrong returns an error at a position of the text.
func (d document) wrong(offset int, path, message string) *fault.Error {
	line, column := jsonvalue.Place(d, offset)
	return fault.New(fault.InvalidParams, "%s: %s", File, message).With(fault.Diagnostic{
		File: File, Path: path, Line: line, Column: column, Message: message})
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

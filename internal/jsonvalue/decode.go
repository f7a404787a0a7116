package jsonvalue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error says what is wrong with a JSON text, and where.
type Error struct {
	// Offset counts bytes from 0. Place turns it into a line and a column.
	Offset int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errTooDeep = fmt.Errorf("nested deeper than %d", maxDepth)
	errNotUTF8 = errors.New("text is not UTF-8")
	errComma   = errors.New("a comma too many")
	errEnds    = errors.New("unexpected end of JSON input")
)

// tolerant are the options of every reader. Where member names must be unique,
// this package checks them. Half of a surrogate pair as an escape, which
// JavaScript writes, is read as U+FFFD.
var tolerant = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Decode reads exactly one JSON value. It refuses what is not UTF-8, member
// duplicate names, nesting beyond 200 and numbers beyond float64, with an
// *Error.
func Decode(data []byte) (any, error) {
	if err := checkUTF8(data); err != nil {
		return nil, err
	}
	return decode(data, true)
}

// DecodeStored is Decode for data that an earlier release may have accepted and
// stored: the last of two members with the same name counts, and bytes that are
// not UTF-8 are read as U+FFFD.
func DecodeStored(data []byte) (any, error) { return decode(data, false) }

func checkUTF8(data []byte) error {
	if utf8.Valid(data) {
		return nil
	}
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return &Error{at, errNotUTF8}
}

func decode(data []byte, unique bool) (any, error) {
	d := decoder{jsontext.NewDecoder(bytes.NewBuffer(data), tolerant), unique}
	value, err := d.value()
	if err = d.finish(err, data); err != nil {
		return nil, err
	}
	return value, nil
}

// decoder reads values token by token.
type decoder struct {
	*jsontext.Decoder
	unique bool // duplicate member names are refused
}

func (d *decoder) value() (any, error) {
	if d.tooDeep(d.PeekKind()) {
		return nil, errTooDeep
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case 't', 'f':
		return token.Bool(), nil
	case '"':
		return token.String(), nil
	case '0':
		text := token.String()
		value, err := number(text)
		if err != nil {
			return nil, &Error{int(d.InputOffset()) - len(text), err}
		}
		return value, nil
	case '[':
		return d.list()
	case '{':
		return d.object()
	}
	return nil, nil
}

// tooDeep says whether a value of this kind is nested too deeply where it begins.
func (d *decoder) tooDeep(kind jsontext.Kind) bool {
	return (kind == '[' || kind == '{') && d.StackDepth() >= maxDepth
}

func (d *decoder) list() (any, error) {
	list := []any{}
	for d.PeekKind() != ']' {
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := d.ReadToken()
	return list, err
}

func (d *decoder) object() (any, error) {
	object := map[string]any{}
	for d.PeekKind() != '}' {
		token, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		if _, twice := object[name]; twice && d.unique {
			return nil, givenTwice(name)
		}
		if object[name], err = d.value(); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

// finish returns the error of a decoder as an *Error. Without an error it checks
// that nothing follows the value.
func (d *decoder) finish(err error, data []byte) error {
	end := int(d.InputOffset())
	if err == nil {
		rest := bytes.TrimLeft(data[end:], " \t\r\n")
		if len(rest) == 0 {
			return nil
		}
		next, _ := utf8.DecodeRune(rest)
		return &Error{len(data) - len(rest), fmt.Errorf("invalid character %q after top-level value", next)}
	}
	return located(err, end, data)
}

// located returns an error of the library as an *Error, at the offset at if the
// library does not say where.
func located(err error, at int, data []byte) error {
	var known *Error
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{len(data), errEnds}
	case errors.As(err, &syntax) && bytes.HasPrefix(data[syntax.ByteOffset:], []byte(",")):
		return &Error{int(syntax.ByteOffset), errComma}
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return &Error{int(syntax.ByteOffset), givenTwice(syntax.JSONPointer.LastToken())}
	case errors.As(err, &syntax):
		return &Error{int(syntax.ByteOffset), syntax.Err}
	case errors.As(err, &semantic):
		return &Error{int(semantic.ByteOffset), mismatch(semantic)}
	}
	return &Error{at, err}
}

func givenTwice(name string) error { return fmt.Errorf("member %.100q appears twice", name) }

// Unmarshal reads exactly one JSON value into a Go value. Member names are case
// sensitive. It refuses what Decode refuses, except for depth, and reads a field
// of type any as Decode does. The error is an *Error.
func Unmarshal(data []byte, into any) error { return unmarshal(data, into, exactNumbers) }

func unmarshal(data []byte, into any, numbers *json.Unmarshalers) error {
	if err := checkUTF8(data); err != nil {
		return err
	}
	err := json.Unmarshal(data, into, jsontext.AllowInvalidUTF8(true), json.WithUnmarshalers(numbers))
	if err == nil {
		return nil
	}
	return located(err, 0, data)
}

// UnmarshalWhole is Unmarshal that reads 1.0 as an integer, as JSON Schema does. The
// offset of its *Error may be one of the canonical encoding.
func UnmarshalWhole[T any](data []byte, into *T) error {
	if Unmarshal(data, into) == nil {
		return nil
	}
	value, err := Decode(data)
	if err == nil {
		data, err = Encode(value) // which writes 1
	}
	if err != nil {
		return err
	}
	*into = *new(T)
	return Unmarshal(data, into)
}

// UnmarshalStored is Unmarshal for data that an earlier release may have accepted
// and stored; see DecodeStored.
func UnmarshalStored(data []byte, into any) error {
	if err := json.Unmarshal(data, into, tolerant, json.WithUnmarshalers(storedNumbers)); err != nil {
		return located(err, 0, data)
	}
	return nil
}

// Mismatch is the cause of an *Error if a value does not fit its Go type.
type Mismatch struct {
	// Pointer is the place of the value (RFC 6901), "" for the whole.
	Pointer string
	// Kind is the kind of the JSON value: string, number, object, array, true,
	// false or null. Type is the Go type.
	Kind, Type string
	Err        error // why, or nil
}

func (m *Mismatch) Error() string {
	what := "the value"
	if m.Pointer != "" {
		what = strconv.Quote(m.Pointer)
	}
	switch {
	case m.Err != nil:
		return what + ": " + m.Err.Error()
	}
	return what + " cannot be a " + m.Kind
}

func mismatch(err *json.SemanticError) *Mismatch {
	made := &Mismatch{Pointer: string(err.JSONPointer), Kind: err.JSONKind.String(), Err: err.Err}
	switch err.JSONKind {
	case '{':
		made.Kind = "object"
	case '[':
		made.Kind = "array"
	}
	if err.GoType != nil {
		made.Type = err.GoType.String()
	}
	return made
}

// exactNumbers reads a value of type any as Decode does, storedNumbers as
// DecodeStored does.
var exactNumbers, storedNumbers = numbersOf(true), numbersOf(false)

func numbersOf(unique bool) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(from *jsontext.Decoder, into *any) error {
		d := decoder{Decoder: from, unique: unique}
		value, err := d.value()
		*into = value
		return err
	})
}

package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"savant/fault"
)

// maxPlaced is of how many diagnostics the places are looked for: more are not
// told, and each reads the file.
const maxPlaced = 20

// of returns a diagnostic of a named schema with the file that the schema was
// read from, or the name that a workflow has for it.
func (s *Set) of(name string, d fault.Diagnostic) fault.Diagnostic {
	held, known := s.sources[name]
	switch {
	case !known || name == "":
	case held.file == "":
		d.Path = "schemas." + name
	default:
		d.File = held.file
	}
	return d
}

// compileDiagnostics says what the metaschemas have against a schema and those
// that it refers to. The validator does not tell which of them it means.
func (s *Set) compileDiagnostics(name string, documents map[string]any, err error) []fault.Diagnostic {
	var found []fault.Diagnostic
	for address, document := range documents {
		schema, _ := document.(map[string]any)
		draft, _ := schema["$schema"].(string)
		if draft == "" {
			draft = drafts[0]
		}
		meta, failed := newCompiler().Compile(draft)
		if failed != nil {
			continue
		}
		var invalid *jsonschema.ValidationError
		if errors.As(meta.Validate(document), &invalid) {
			for _, d := range (explainer{}).explain(invalid) {
				found = append(found, s.of(nameOf(address), d))
			}
		}
	}
	if found == nil {
		found = []fault.Diagnostic{s.of(name, fault.Diagnostic{Message: strings.TrimPrefix(err.Error(), "jsonschema: ")})}
	}
	return found
}

// placed sorts diagnostics, and says the lines and columns of the first in
// their files.
func (s *Set) placed(found []fault.Diagnostic) []fault.Diagnostic {
	found = tidy(found)
	for i := range found[:min(maxPlaced, len(found))] {
		d := &found[i]
		held, known := s.sources[strings.TrimSuffix(path.Base(d.File), ".json")]
		if known && held.file == d.File {
			d.Line, d.Column = position(held.raw, offsetOf(held.raw, d.Pointer))
		}
	}
	return found
}

// position returns the line and the column of a byte of a text, from 1.
func position(data []byte, at int) (line, column int) {
	before := data[:max(0, min(at, len(data)))]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// offsetOf returns where the value begins that an RFC 6901 pointer leads to,
// or the last one on the way that there is.
func offsetOf(data []byte, pointer string) int {
	decoder := json.NewDecoder(bytes.NewReader(data))
	at := nextToken(data, decoder)
	for _, token := range pointerTokens(pointer) {
		if !enter(decoder, token) {
			break
		}
		at = nextToken(data, decoder)
	}
	return at
}

// nextToken is where the next value begins.
func nextToken(data []byte, decoder *json.Decoder) int {
	at := int(decoder.InputOffset())
	for at < len(data) && strings.IndexByte(" \t\r\n,:", data[at]) >= 0 {
		at++
	}
	return at
}

// enter goes into an object or a list, up to the member or the item of a name.
func enter(decoder *json.Decoder, name string) bool {
	opened, err := decoder.Token()
	if err != nil || opened != json.Delim('{') && opened != json.Delim('[') {
		return false
	}
	for index := 0; decoder.More(); index++ {
		key := any(strconv.Itoa(index))
		if opened == json.Delim('{') {
			if key, err = decoder.Token(); err != nil {
				return false
			}
		}
		if key == any(name) {
			return true
		}
		if decoder.Decode(new(json.RawMessage)) != nil {
			return false
		}
	}
	return false
}

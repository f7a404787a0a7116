package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
)

// maxWrong bounds what is said of one file.
const maxWrong = 20

// maxShown bounds what is shown of a name or value, in bytes.
const maxShown = 100

// schemaKey is what editors find the published schema by; it is no setting.
const schemaKey = "$schema"

// reader walks a file of settings whose syntax was checked.
type reader struct {
	data    []byte
	folder  string // SAVANT_PATH
	table   []Setting
	decoder *json.Decoder
	values  map[string]Value
	wrong   []fault.Diagnostic
}

// object reads the members of an object; prefix is its Key with a point, empty
// for the whole file.
func (r *reader) object(prefix string) error {
	if _, err := r.decoder.Token(); err != nil {
		return err
	}
	first := map[string]int{} // offset by name
	for r.decoder.More() {
		if len(r.wrong) == maxWrong {
			return nil // also bounds the time: each line is counted from the beginning
		}
		at := r.next()
		token, err := r.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if before, twice := first[name]; twice {
			line, _ := place(r.data, before)
			r.complain(at, prefix+name, fmt.Sprintf("%q is there already, in line %d", fault.Cut(name, maxShown), line))
		} else {
			first[name] = at
		}
		if err := r.member(prefix, name, at); err != nil {
			return err
		}
	}
	_, err := r.decoder.Token()
	return err
}

// member reads what follows a name, which stands at an offset.
func (r *reader) member(prefix, name string, at int) error {
	key := prefix + name
	row, isSetting := r.row(key)
	switch begin := r.next(); {
	case strings.Contains(name, "."): // a Key in one word would pass for a nested one
		r.complain(at, key, r.unknown(prefix, name))
	case isSetting && row.NotInFile != "":
		r.complain(at, key, fmt.Sprintf("%s %s, so it cannot be set here: use the variable %s or --%s", key, row.NotInFile, row.Env, row.Flag))
	case isSetting:
		return r.setting(row)
	case r.isBlock(key) && r.data[begin] == '{':
		return r.object(key + ".")
	case r.isBlock(key):
		r.complain(begin, key, key+": expected an object, got "+kindOf(r.data[begin:]))
	case key == schemaKey && r.data[begin] != '"':
		r.complain(begin, key, key+": expected a text, got "+kindOf(r.data[begin:]))
	case key != schemaKey:
		r.complain(at, key, r.unknown(prefix, name))
	}
	return r.skip()
}

// setting reads the value of a row.
func (r *reader) setting(row Setting) error {
	at := r.next()
	var raw json.RawMessage
	if err := r.decoder.Decode(&raw); err != nil {
		return err
	}
	text, err := row.text(raw, r.folder)
	if err == nil {
		err = row.check(new(Settings), text)
	}
	if err != nil {
		r.add(refused(row, err, diagnose(r.data, at, row.Key, "")))
		return nil
	}
	line, column := place(r.data, at)
	r.values[row.Key] = Value{Setting: row, Text: text, Origin: Origin{Source: FromFile, Name: FileName, Line: line, Column: column}}
	return nil
}

// refused completes what is said of a value that its row does not take.
func refused(row Setting, err error, wrong fault.Diagnostic) fault.Diagnostic {
	var value *Error
	var kind *typeError
	switch {
	case errors.As(err, &value):
		wrong.Expected, wrong.Actual = value.Expected, fmt.Sprintf("%q", fault.Cut(value.Value, maxShown))
		wrong.Message = row.Key + ": expected " + wrong.Expected + ", got " + wrong.Actual
		return wrong
	case errors.As(err, &kind):
		wrong.Expected, wrong.Actual = kind.expected, kind.got
	}
	wrong.Message = row.Key + ": " + err.Error()
	return wrong
}

func (r *reader) skip() error {
	return r.decoder.Decode(new(json.RawMessage))
}

// next is where the next token begins.
func (r *reader) next() int {
	at := int(r.decoder.InputOffset())
	for at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	return at
}

func (r *reader) row(key string) (Setting, bool) {
	for _, row := range r.table {
		if row.Key == key {
			return row, true
		}
	}
	return Setting{}, false
}

// isBlock says whether settings are nested below a key.
func (r *reader) isBlock(key string) bool {
	for _, row := range r.table {
		if strings.HasPrefix(row.Key, key+".") {
			return true
		}
	}
	return false
}

func (r *reader) complain(at int, path, message string) {
	r.add(diagnose(r.data, at, fault.Cut(path, maxShown), message))
}

func (r *reader) add(wrong fault.Diagnostic) {
	if len(r.wrong) < maxWrong {
		r.wrong = append(r.wrong, wrong)
	}
}

// unknown says that there is no setting of this name, and which was meant.
func (r *reader) unknown(prefix, name string) string {
	message := fmt.Sprintf("unknown key %q", fault.Cut(prefix+name, maxShown))
	if elsewhere := r.elsewhere(name); elsewhere != "" {
		return message + ", did you mean " + nested(elsewhere) + "?"
	}
	if nearest := fault.Nearest(name, r.names(prefix)); nearest != "" {
		return message + fmt.Sprintf(", did you mean %q?", prefix+nearest)
	}
	return message + ": expected one of " + strings.Join(r.names(prefix), ", ")
}

// elsewhere returns the Key of a setting that a name stands for in another
// place: its variable, its flag or its Key written in one.
func (r *reader) elsewhere(name string) string {
	for _, row := range r.table {
		whole := strings.ReplaceAll(row.Key, ".", "_")
		last := row.Key[strings.LastIndexByte(row.Key, '.')+1:]
		if name == row.Key || strings.EqualFold(name, row.Env) || slices.Contains([]string{row.Flag, whole, last}, name) {
			return row.Key
		}
	}
	return ""
}

// nested writes a Key as the file has it.
func nested(key string) string {
	block, name, isNested := strings.Cut(key, ".")
	if !isNested {
		return fmt.Sprintf("%q", key)
	}
	return fmt.Sprintf("{%q: {%q: …}}", block, name)
}

// names are the keys that an object may have.
func (r *reader) names(prefix string) []string {
	var names []string
	for _, row := range r.table {
		below, inside := strings.CutPrefix(row.Key, prefix)
		name, _, _ := strings.Cut(below, ".")
		if inside && row.NotInFile == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// aNumber is kindOf a number.
const aNumber = "a number"

// kindOf names the type of a JSON value by how it begins.
func kindOf(raw []byte) string {
	switch raw = bytes.TrimLeft(raw, " \t\r\n"); raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return aNumber
}

package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
)

// JSON removes secrets from a JSON value: in texts, in names, and in members with
// the name of a secret. Invalid JSON is redacted as text. A value without secrets
// is returned byte for byte.
func (r *Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || r.harmless(raw) {
		return raw
	}
	value, err := decode(raw)
	if err != nil {
		return encode(r.Text(string(raw)))
	}
	clean, changed := r.value(value)
	if !changed {
		return raw
	}
	return encode(clean)
}

// harmless reports that a JSON value holds no secret, without decoding it: it has
// none of the words, and no escape that could hide one.
func (r *Redactor) harmless(raw json.RawMessage) bool {
	if len(r.words().words) == 0 {
		return json.Valid(raw)
	}
	text := string(raw)
	return !strings.Contains(text, `\u`) && !strings.Contains(text, `\/`) && !r.hinted(text) && json.Valid(raw)
}

// decode reads exactly one JSON value. Numbers stay as they are written.
func decode(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

// encode encodes a redacted value.
func encode(value any) json.RawMessage {
	raw, err := jsonvalue.Encode(value)
	if err != nil {
		return json.RawMessage(`"` + Mark + `"`)
	}
	return raw
}

// Value removes secrets from a decoded JSON value, on a copy. A value of another
// type is encoded first.
func (r *Redactor) Value(value any) any {
	clean, _ := r.value(value)
	return clean
}

func (r *Redactor) value(value any) (clean any, changed bool) {
	switch v := value.(type) {
	case nil, bool, json.Number, int, int64, uint64, float64:
		return v, false
	case string:
		text := r.Text(v)
		return text, text != v
	case []any:
		return r.list(v)
	case map[string]any:
		return r.object(v)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return Mark, true
	}
	plain, err := decode(raw)
	if err != nil {
		return Mark, true
	}
	clean, _ = r.value(plain)
	return clean, true
}

func (r *Redactor) list(list []any) (clean any, changed bool) {
	made := make([]any, len(list))
	for i := range list {
		item, differs := r.value(list[i])
		made[i] = item
		changed = changed || differs
	}
	return made, changed
}

func (r *Redactor) object(object map[string]any) (clean any, changed bool) {
	made := make(map[string]any, len(object))
	for name, value := range object {
		hinted := r.hinted(name)
		secret := r.names && (hinted && SecretName(name) || name == "value" && r.namedSecret(object))
		if secret && mayBeSecret(value) {
			made[r.Text(name)], changed = Mark, true
			continue
		}
		if list, isList := value.([]any); secret && isList && slices.ContainsFunc(list, mayBeSecret) { // as headers have them
			list, changed = slices.Clone(list), true
			for i, each := range list {
				if mayBeSecret(each) {
					list[i] = Mark
				}
			}
			value = list
		}
		text, isText := value.(string)
		item, differs := r.value(value)
		if isText && !differs && r.names {
			item, differs = r.member(name, text)
		}
		shown := name
		if hinted {
			shown = r.Text(name)
		}
		made[shown] = item
		changed = changed || differs || shown != name
	}
	return made, changed
}

func mayBeSecret(value any) bool {
	text, isText := value.(string)
	return isText && text != "" && !isAddress(text) && !isStated(text)
}

// namedSecret reports whether an object says what its value is, and that is a secret:
// {"name": "API_TOKEN", "value": …}.
func (r *Redactor) namedSecret(object map[string]any) bool {
	for _, member := range []string{"name", "key"} {
		if name, isText := object[member].(string); isText && SecretName(name) {
			return true
		}
	}
	return false
}

// member redacts a text that is a secret together with the name of its member, as the
// rules have it: "auth": "YWRh…".
func (r *Redactor) member(name, text string) (clean string, changed bool) {
	before := `"` + name + `"`
	if !r.hinted(before) {
		return text, false
	}
	before += `: "`
	for _, found := range r.direct(before + text + `"`) {
		if found.to > len(before) {
			return Mark, true
		}
	}
	return text, false
}

package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"savant/fault"
)

// text returns the text form of a JSON value of the file. The error says what
// was expected, and shows no value: it may be a secret in the wrong place.
func (s Setting) text(raw json.RawMessage, folder string) (string, error) {
	switch s.Kind {
	case Number:
		return numberText(raw)
	case Switch:
		return switchText(raw)
	case List:
		return listText(raw)
	case Folders:
		return foldersText(raw, folder)
	}
	return plainText(raw)
}

// typeError is a value of the wrong type, or of none that its setting takes.
type typeError struct{ expected, got string }

func (t *typeError) Error() string { return "expected " + t.expected + ", got " + t.got }

func mistyped(expected string, raw json.RawMessage) error {
	return &typeError{expected, kindOf(raw)}
}

func plainText(raw json.RawMessage) (string, error) {
	var text *string
	if json.Unmarshal(raw, &text) != nil || text == nil {
		return "", mistyped("a text", raw)
	}
	if strings.ContainsRune(*text, 0) {
		return "", unfit("expected a text without the character 0")
	}
	return *text, nil
}

// maxExact is the number up to which every integer is exact as a float64.
const maxExact = 1 << 53

// numberText takes every way to write an integer, such as 5e3, as JSON Schema
// does.
func numberText(raw json.RawMessage) (string, error) {
	if kindOf(raw) != aNumber {
		return "", mistyped("an integer", raw)
	}
	number, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > maxExact {
		return "", &typeError{"an integer", fault.Cut(string(raw), maxShown)}
	}
	return strconv.FormatInt(int64(number), 10), nil
}

func switchText(raw json.RawMessage) (string, error) {
	var on *bool
	if json.Unmarshal(raw, &on) != nil || on == nil {
		return "", mistyped("true or false", raw)
	}
	return strconv.FormatBool(*on), nil
}

func listText(raw json.RawMessage) (string, error) {
	if raw[0] == '"' {
		return plainText(raw)
	}
	list, err := texts(raw)
	for _, each := range list {
		if strings.Contains(each, ",") || strings.TrimSpace(each) == "" {
			return "", unfit("expected a list of texts that are not empty and have no comma")
		}
	}
	return strings.Join(list, ","), err
}

func foldersText(raw json.RawMessage, folder string) (string, error) {
	list := []string{}
	var err error
	if raw[0] == '"' {
		var one string
		one, err = plainText(raw)
		list = append(list, one)
	} else {
		list, err = texts(raw)
	}
	if err != nil {
		return "", err
	}
	for i, each := range list {
		if !filepath.IsAbs(each) && each != "" {
			list[i] = filepath.Join(folder, each)
		}
		if list[i] == "" || strings.Contains(list[i], listSeparator) || strings.ContainsRune(each, 0) {
			return "", unfit("expected folders whose whole paths are not empty and hold no " + listSeparator)
		}
	}
	return strings.Join(list, listSeparator), nil
}

func texts(raw json.RawMessage) ([]string, error) {
	var parts []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		return nil, mistyped("a list of texts", raw)
	}
	list := make([]string, 0, len(parts))
	for _, part := range parts {
		text, err := plainText(part)
		if err != nil {
			return nil, fmt.Errorf("in the list: %w", err)
		}
		list = append(list, text)
	}
	return list, nil
}

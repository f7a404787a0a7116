package settings

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// text returns the text form of a JSON value of the file. The error says what
// was expected, and shows no value: it may be a secret in the wrong place.
func (s Setting) text(value jsonvalue.Node, folder string) (string, error) {
	switch s.Kind {
	case Number:
		return numberText(value)
	case Switch:
		return switchText(value)
	case List:
		return listText(value)
	case Folders:
		return foldersText(value, folder)
	}
	return plainText(value)
}

// typeError is a value of the wrong type, or of none that its setting takes.
type typeError struct{ expected, got string }

func (t *typeError) Error() string { return "expected " + t.expected + ", got " + t.got }

func mistyped(expected string, value jsonvalue.Node) error {
	return &typeError{expected, kindOf(value.Raw)}
}

func plainText(value jsonvalue.Node) (string, error) {
	if value.Raw[0] != '"' {
		return "", mistyped("a text", value)
	}
	text := jsonvalue.Text(value.Raw)
	if strings.ContainsRune(text, 0) {
		return "", unfit("expected a text without the character 0")
	}
	return text, nil
}

// maxExact is the number up to which every integer is exact as a float64.
const maxExact = 1 << 53

// numberText takes every way to write an integer, such as 5e3, as JSON Schema
// does.
func numberText(value jsonvalue.Node) (string, error) {
	if kindOf(value.Raw) != aNumber {
		return "", mistyped("an integer", value)
	}
	number, err := strconv.ParseFloat(string(value.Raw), 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > maxExact {
		return "", &typeError{"an integer", fault.Cut(string(value.Raw), maxShown)}
	}
	return strconv.FormatInt(int64(number), 10), nil
}

func switchText(value jsonvalue.Node) (string, error) {
	on, err := strconv.ParseBool(string(value.Raw))
	if err != nil || kindOf(value.Raw) != aBoolean {
		return "", mistyped("true or false", value)
	}
	return strconv.FormatBool(on), nil
}

func listText(value jsonvalue.Node) (string, error) {
	if value.Raw[0] == '"' {
		return plainText(value)
	}
	list, err := texts(value)
	for _, each := range list {
		if strings.Contains(each, ",") || strings.TrimSpace(each) == "" {
			return "", unfit("expected a list of texts that are not empty and have no comma")
		}
	}
	return strings.Join(list, ","), err
}

func foldersText(value jsonvalue.Node, folder string) (string, error) {
	list := []string{}
	var err error
	if value.Raw[0] == '"' {
		var one string
		one, err = plainText(value)
		list = append(list, one)
	} else {
		list, err = texts(value)
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

func texts(value jsonvalue.Node) ([]string, error) {
	if value.Raw[0] != '[' {
		return nil, mistyped("a list of texts", value)
	}
	list := make([]string, 0, len(value.Items))
	for _, item := range value.Items {
		text, err := plainText(item)
		if err != nil {
			return nil, fmt.Errorf("in the list: %w", err)
		}
		list = append(list, text)
	}
	return list, nil
}

package settings

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// mismatch is a value that its setting does not take. got is empty where nothing
// of the value is shown.
type mismatch struct{ expected, got string }

func (m *mismatch) String() string {
	if m.got == "" {
		return "expected " + m.expected
	}
	return "expected " + m.expected + ", got " + m.got
}

// text returns the text form of a JSON value of the file. A mismatch shows no
// text of the value: it may be a secret in the wrong place.
func (s Setting) text(value jsonvalue.Node, folder string) (string, *mismatch) {
	switch kind := kindOf(value.Raw); {
	case s.Kind == Number:
		return numberText(value)
	case s.Kind == Switch && kind != aBoolean:
		return "", &mismatch{"true or false", kind}
	case s.Kind == Switch:
		return string(value.Raw), nil
	case s.Kind == PriceList && kind != anObject:
		return "", &mismatch{"an object of prices by model", kind}
	case s.Kind == PriceList:
		return string(value.Raw), nil
	case s.Kind == List && kind != aText:
		return listText(value)
	case s.Kind == Folders:
		return foldersText(value, folder)
	}
	return plainText(value)
}

func plainText(value jsonvalue.Node) (string, *mismatch) {
	if kind := kindOf(value.Raw); kind != aText {
		return "", &mismatch{aText, kind}
	}
	text := jsonvalue.Text(value.Raw)
	if strings.ContainsRune(text, 0) {
		return "", &mismatch{expected: "a text without the character 0"}
	}
	return text, nil
}

// maxExact is the number up to which every integer is exact as a float64.
const maxExact = 1 << 53

// numberText takes every way to write an integer, such as 5e3, as JSON Schema
// does.
func numberText(value jsonvalue.Node) (string, *mismatch) {
	if kind := kindOf(value.Raw); kind != aNumber {
		return "", &mismatch{"an integer", kind}
	}
	number, err := strconv.ParseFloat(string(value.Raw), 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > maxExact {
		return "", &mismatch{"an integer", fault.Cut(string(value.Raw), maxShown)}
	}
	return strconv.FormatInt(int64(number), 10), nil
}

func listText(value jsonvalue.Node) (string, *mismatch) {
	list, wrong := texts(value)
	for _, each := range list {
		if strings.Contains(each, ",") || strings.TrimSpace(each) == "" {
			return "", &mismatch{expected: "a list of texts that are not empty and have no comma"}
		}
	}
	return strings.Join(list, ","), wrong
}

func foldersText(value jsonvalue.Node, folder string) (string, *mismatch) {
	list, wrong := texts(value)
	for i, each := range list {
		if !filepath.IsAbs(each) && each != "" {
			list[i] = filepath.Join(folder, each)
		}
		if list[i] == "" || strings.Contains(list[i], listSeparator) {
			return "", &mismatch{expected: "folders whose whole paths are not empty and hold no " + listSeparator}
		}
	}
	return strings.Join(list, listSeparator), wrong
}

// texts returns the texts of a list, or one text as a list.
func texts(value jsonvalue.Node) ([]string, *mismatch) {
	switch kind := kindOf(value.Raw); kind {
	case aText:
		one, wrong := plainText(value)
		return []string{one}, wrong
	case aList:
	default:
		return nil, &mismatch{"a list of texts", kind}
	}
	list := make([]string, len(value.Items))
	for i, item := range value.Items {
		var wrong *mismatch
		if list[i], wrong = plainText(item); wrong != nil {
			return nil, &mismatch{wrong.expected + " in the list", wrong.got}
		}
	}
	return list, nil
}

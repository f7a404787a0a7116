package settings

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// Source is the kind of place that a value comes from.
type Source string

// The sources, by descending precedence.
const (
	FromFlag        Source = "flag"
	FromEnvironment Source = "environment"
	FromFile        Source = "file"
	FromAbove       Source = "found"
	FromDefault     Source = "default"
)

// Origin is the place that a value comes from.
type Origin struct {
	Source Source `json:"source"`
	// Name is the variable, the file, or the entry that a folder was found by; empty for a
	// default, and for a flag until who read the flags fills it in.
	Name string `json:"name,omitempty"`
	// Line and Column are the place of a value in the file, from 1.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// String returns an origin as a person reads it.
func (o Origin) String() string {
	switch o.Source {
	case FromFlag, FromEnvironment:
		return string(o.Source) + " " + o.Name
	case FromFile:
		return fmt.Sprintf("%s:%d", o.Name, o.Line)
	case FromAbove:
		return "the nearest folder above with " + o.Name
	}
	return string(o.Source)
}

// Value is the effective value of a setting, as text. It may be a secret: show Shown.
type Value struct {
	Setting Setting
	Text    string
	Origin  Origin
	// written are the folders as written in the file.
	written []string
}

// What Shown returns for a secret, and for an empty text.
const (
	shownSet    = "(set)"
	shownNotSet = "(not set)"
)

// hidden stands for the parts of an address that are not shown.
const hidden = "[redacted]"

// Redacted returns a value without secrets: for a secret only whether it is set, for an
// address no user, password and query.
func (v Value) Redacted() string {
	switch {
	case v.Text == "":
		return shownNotSet
	case v.Setting.Secret:
		return shownSet
	case v.Setting.Kind == Address:
		return ShownAddress(v.Text)
	}
	return v.Text
}

// ShownAddress returns an address without its user, password and query.
func ShownAddress(text string) string {
	address, err := url.Parse(text)
	if err != nil || address.Opaque != "" || address.Host == "" && strings.Contains(text, "@") {
		return hidden
	}
	shown := address.EscapedPath()
	if address.User != nil {
		shown = "//" + hidden + "@" + address.Host + shown
	} else if address.Host != "" {
		shown = "//" + address.Host + shown
	}
	if address.Scheme != "" {
		shown = address.Scheme + ":" + shown
	}
	if address.RawQuery != "" || address.Fragment != "" {
		shown += "?" + hidden
	}
	return shown
}

// JSON returns a value without secrets in the form of the file: a number, a boolean, a
// list or a text. For a secret it is true if the secret is set.
func (v Value) JSON() any {
	if v.Setting.Secret {
		return v.Text != ""
	}
	switch v.Setting.Kind {
	case Number:
		if number, err := strconv.Atoi(v.Text); err == nil {
			return number
		}
	case Switch:
		if on, err := strconv.ParseBool(v.Text); err == nil {
			return on
		}
	case List:
		return commaList(v.Text)
	case Folders:
		return append([]string{}, folders(v.Text)...)
	case Address:
		return ShownAddress(v.Text)
	case PriceList:
		if v.Text == "" {
			return map[string]any{}
		}
		return json.RawMessage(v.Text)
	}
	return v.Text
}

// listSeparator separates folders in a text, as in PATH.
const listSeparator = string(filepath.ListSeparator)

// commaList returns the parts of a comma list, each once, without space around.
func commaList(text string) []string {
	list := []string{}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" && !seen[part] {
			seen[part] = true
			list = append(list, part)
		}
	}
	return list
}

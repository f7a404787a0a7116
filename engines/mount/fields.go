package mount

import (
	"encoding/json"
	"errors"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// field is one key of a server: the expected value for the error message, where the
// value is stored, and a further check, or nil.
type field struct {
	expected string
	into     func(*entry) any
	fits     func(*entry) bool
}

const (
	aText    = "a non-empty text"
	patterns = `patterns of names, as in ["read_*"]`
)

// fields are the keys of a server.
var fields = map[string]field{
	"type": {"stdio or http; the transport HTTP+SSE of 2024-11-05 is not supported", func(e *entry) any { return &e.kind },
		func(e *entry) bool { return e.kind == "stdio" || e.isHTTP() }},
	"command": {aText, func(e *entry) any { return &e.command }, func(e *entry) bool { return isText(e.command) }},
	"args": {"a list of texts", func(e *entry) any { return &e.args }, func(e *entry) bool {
		return !strings.ContainsRune(strings.Join(e.args, ""), 0)
	}},
	"env": {"an object of names and texts of one line", func(e *entry) any { return &e.env }, func(e *entry) bool { return oneLine(e.env) }},
	"cwd": {aText, func(e *entry) any { return &e.dir }, func(e *entry) bool { return isText(e.dir) }},
	"url": {aText, func(e *entry) any { return &e.url }, func(e *entry) bool { return isText(e.url) }},
	"headers": {"names of headers, without spaces or colons, and texts of one line", func(e *entry) any { return &e.headers }, func(e *entry) bool {
		for name := range e.headers {
			if !headerName().MatchString(name) {
				return false
			}
		}
		return oneLine(e.headers)
	}},
	"disabled": {"true or false", func(e *entry) any { return &e.disabled }, nil},
	"allow":    {patterns, func(e *entry) any { return &e.allow }, func(e *entry) bool { return arePatterns(e.allow) }},
	"deny":     {patterns, func(e *entry) any { return &e.deny }, func(e *entry) bool { return arePatterns(e.deny) }},
	"timeout":  {`seconds, or a duration such as "90s", of at most 24 hours`, func(e *entry) any { return &e.timeout }, nil},
}

func (e *entry) isHTTP() bool {
	return slices.Contains([]string{"http", "streamable-http", "streamableHttp"}, e.kind)
}

func isText(text string) bool { return text != "" && !strings.ContainsRune(text, 0) }

func oneLine(texts map[string]string) bool {
	for name, text := range texts {
		if name == "" || strings.ContainsAny(name, "=\x00\r\n") || strings.ContainsAny(text, "\x00\r\n") {
			return false
		}
	}
	return true
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = pattern.Lazy("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func arePatterns(given []string) bool {
	return !slices.ContainsFunc(given, func(each string) bool {
		_, err := path.Match(each, "")
		return err != nil
	})
}

// duration is a number of seconds, or a text such as "90s".
type duration time.Duration

// UnmarshalJSON requires a duration above 0 and up to 24 hours.
func (d *duration) UnmarshalJSON(raw []byte) error {
	var seconds float64
	given, _ := time.ParseDuration(jsonvalue.Text(raw))
	if json.Unmarshal(raw, &seconds) == nil && seconds <= math.Floor(maxTimeout.Seconds()) {
		given = time.Duration(seconds * float64(time.Second))
	}
	if given <= 0 || given > maxTimeout {
		return errors.New("out of bounds")
	}
	*d = duration(given)
	return nil
}

package mount

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// The readers of fields: each sets what it is given, or returns what it expected.

func textOf(v jsonvalue.Node, into *string) string {
	if !decode(v, into) || *into == "" || strings.ContainsRune(*into, 0) {
		return "a text that is not empty"
	}
	return ""
}

func kindOf(v jsonvalue.Node, into *string) string {
	switch kind := jsonvalue.Text(v.Raw); kind {
	case "stdio":
		*into = kind
	case "http", "streamable-http", "streamableHttp":
		*into = "http"
	case "sse":
		return "stdio or http: the transport HTTP+SSE of 2024-11-05 is not spoken"
	default:
		return "stdio or http"
	}
	return ""
}

func listOf(v jsonvalue.Node, into *[]string) string {
	if !decode(v, into) || slices.ContainsFunc(*into, func(text string) bool { return strings.ContainsRune(text, 0) }) {
		return "a list of texts"
	}
	return ""
}

func textsOf(v jsonvalue.Node, into *map[string]string) string {
	if !decode(v, into) {
		return "an object of names and texts"
	}
	for name, text := range *into {
		if name == "" || strings.ContainsAny(name, "=\x00\r\n") || strings.ContainsAny(text, "\x00\r\n") {
			return "an object of names and texts of one line"
		}
	}
	return ""
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = pattern.Lazy("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func headersOf(v jsonvalue.Node, into *map[string]string) string {
	for _, each := range v.Members {
		if !headerName().MatchString(each.Name) {
			return "names of headers, without spaces or colons"
		}
	}
	return textsOf(v, into)
}

func truthOf(v jsonvalue.Node, into *bool) string {
	if !decode(v, into) {
		return "true or false"
	}
	return ""
}

func patternsOf(v jsonvalue.Node, into *[]string) string {
	if expected := listOf(v, into); expected != "" {
		return `a list of patterns, as in ["read_*"]`
	}
	for _, pattern := range *into {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Sprintf("patterns; %q is none", fault.Cut(pattern, 60))
		}
	}
	return ""
}

// durationOf reads a number of seconds, or a duration such as "90s".
func durationOf(v jsonvalue.Node, into *time.Duration) string {
	var given time.Duration
	var seconds float64
	if decode(v, &seconds) && seconds <= math.Floor(maxTimeout.Seconds()) {
		given = time.Duration(seconds * float64(time.Second))
	} else {
		given, _ = time.ParseDuration(jsonvalue.Text(v.Raw))
	}
	if given <= 0 || given > maxTimeout {
		return `seconds, or a duration such as "90s", of at most 24 hours`
	}
	*into = given
	return ""
}

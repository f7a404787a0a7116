package mount

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/pattern"
)

// The readers of fields: each sets what it is given, or returns what it expected.

func textOf(v value, into *string) string {
	text, is := v.scalar.(string)
	if !is || text == "" || strings.ContainsRune(text, 0) {
		return "a text that is not empty"
	}
	*into = text
	return ""
}

func kindOf(v value, into *string) string {
	kind, _ := v.scalar.(string)
	switch kind {
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

func listOf(v value, into *[]string) string {
	list := make([]string, len(v.items))
	for i, item := range v.items {
		text, is := item.scalar.(string)
		if !is || strings.ContainsRune(text, 0) {
			return "a list of texts"
		}
		list[i] = text
	}
	if !v.array {
		return "a list of texts"
	}
	*into = list
	return ""
}

func textsOf(v value, into *map[string]string) string {
	texts := make(map[string]string, len(v.members))
	for _, each := range v.members {
		text, is := each.value.scalar.(string)
		if !is || each.key == "" || strings.ContainsAny(each.key, "=\x00\r\n") || strings.ContainsAny(text, "\x00\r\n") {
			return "an object of names and texts of one line"
		}
		texts[each.key] = text
	}
	if !v.object {
		return "an object of names and texts"
	}
	*into = texts
	return ""
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = pattern.Lazy("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func headersOf(v value, into *map[string]string) string {
	for _, each := range v.members {
		if !headerName().MatchString(each.key) {
			return "names of headers, without spaces or colons"
		}
	}
	return textsOf(v, into)
}

func truthOf(v value, into *bool) string {
	truth, is := v.scalar.(bool)
	if !is {
		return "true or false"
	}
	*into = truth
	return ""
}

func patternsOf(v value, into *[]string) string {
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
func durationOf(v value, into *time.Duration) string {
	const expected = `seconds, or a duration such as "90s", of at most 24 hours`
	var given time.Duration
	switch scalar := v.scalar.(type) {
	case json.Number:
		seconds, err := scalar.Float64()
		if err != nil || !(seconds > 0 && seconds <= math.Floor(maxTimeout.Seconds())) {
			return expected
		}
		given = time.Duration(seconds * float64(time.Second))
	case string:
		given, _ = time.ParseDuration(scalar)
	}
	if given <= 0 || given > maxTimeout {
		return expected
	}
	*into = given
	return ""
}

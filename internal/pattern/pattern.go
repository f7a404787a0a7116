// Package pattern compiles regular expressions on first use. Compiling all of the
// program's at once would take a tenth of its start. It also matches names with stars.
package pattern

import (
	"regexp"
	"strings"
	"sync"
)

// Lazy returns a function that compiles a regular expression on its first call. It
// panics if text is invalid, so a test has to reach it.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Matches reports whether a name is that of a pattern, in which * is any text.
func Matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, found := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return found && strings.HasSuffix(rest, parts[len(parts)-1])
}

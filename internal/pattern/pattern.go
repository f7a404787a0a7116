// Package pattern compiles regular expressions on first use. Compiling all of the
// program's at once would take a tenth of its start.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a function that compiles a regular expression on its first call. It
// panics if text is invalid, so a test has to reach it.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Package pattern holds regular expressions back until they are needed: all of
// the program's together would take a tenth of its start.
package pattern

import (
	"regexp"
	"sync"
)

// Lazy returns a regular expression that is compiled when it is first asked
// for. It panics then where text is none, so a test has to reach it.
func Lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

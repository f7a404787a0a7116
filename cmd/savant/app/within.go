package app

import (
	"path/filepath"
	"regexp"
	"unicode/utf8"

	"savant/internal/pattern"
)

// within returns a function that makes absolute paths below a folder relative to
// it, wherever a text has them: "open /home/ada/project/logs: …" is "open logs: …"
// in /home/ada/project. A path that only contains the folder's stays.
func within(folder string) func(text string) string {
	if !filepath.IsAbs(folder) || filepath.Dir(folder) == folder || !utf8.ValidString(folder) {
		return func(text string) string { return text }
	}
	below := pattern.Lazy(`(^|[^\pL\pN_.-])` + regexp.QuoteMeta(folder+string(filepath.Separator)))
	return func(text string) string { return below().ReplaceAllString(text, "$1") }
}

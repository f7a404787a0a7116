package app

import (
	"path/filepath"
	"strings"
)

// within makes absolute paths below a folder relative to it, wherever a text has
// them: "open /home/ada/project/logs: …" is "open logs: …" in /home/ada/project.
func within(folder, text string) string {
	prefix := folder + string(filepath.Separator)
	if !filepath.IsAbs(folder) || filepath.Dir(folder) == folder || !strings.Contains(text, prefix) {
		return text
	}
	var out strings.Builder
	for {
		at := strings.Index(text, prefix)
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:at])
		if at > 0 && partOfPath(text[at-1]) { // it goes on from another folder
			out.WriteString(prefix)
		}
		text = text[at+len(prefix):]
	}
}

// partOfPath says whether a byte before a path is of one that is longer.
func partOfPath(before byte) bool {
	return before == '.' || before == '-' || before == '_' || before >= '0' && before <= '9' ||
		before >= 'a' && before <= 'z' || before >= 'A' && before <= 'Z' || before >= 0x80
}

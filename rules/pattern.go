package rules

import (
	"slices"
	"strings"
)

// isPattern reports whether a name stands for several tools.
func isPattern(name string) bool { return strings.Contains(name, "*") }

// matches reports whether a name or pattern is of a tool; * is any text.
func matches(pattern, tool string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == tool
	}
	rest, found := strings.CutPrefix(tool, parts[0])
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return found && strings.HasSuffix(rest, parts[len(parts)-1])
}

func matchesAny(patterns []string, tool string) bool {
	return slices.ContainsFunc(patterns, func(each string) bool { return matches(each, tool) })
}

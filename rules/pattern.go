package rules

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

// isPattern reports whether a name stands for several tools.
func isPattern(name string) bool { return strings.Contains(name, "*") }

func matchesAny(patterns []string, tool string) bool {
	return slices.ContainsFunc(patterns, func(each string) bool { return pattern.Matches(each, tool) })
}

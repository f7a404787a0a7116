package reasoning

import (
	"slices"
	"strings"

	"savant/internal/pattern"
)

// Canonical resolves a variant spelling of a tool's name: with other separators or case
// ("think_plan", "Think/Plan"), with a prefix ("mcp__savant__think_plan",
// "functions.think.plan"), or with a suffix after two underscores. If the name matches
// no tool, or several, Canonical returns it unchanged, and false.
func Canonical(name string, tools []Tool) (canonical string, known bool) {
	if slices.ContainsFunc(tools, func(tool Tool) bool { return tool.Name == name }) {
		return name, true
	}
	spelt, best, ambiguous := fold(name), "", false
	for i := range tools {
		candidate := fold(tools[i].Name)
		switch {
		case !matchesTool(spelt, candidate) || tools[i].Name == best:
		case best == "" || len(candidate) > len(fold(best)):
			best, ambiguous = tools[i].Name, false
		case len(candidate) == len(fold(best)):
			ambiguous = true
		}
	}
	if best == "" || ambiguous {
		return name, false
	}
	return best, true
}

// fold writes a name in lower case with "_" between its words, and "__" for two or
// more separators in a row, which no tool's name has.
func fold(name string) string {
	name = strings.ToLower(afterName().ReplaceAllString(strings.TrimSpace(name), ""))
	return separators().ReplaceAllStringFunc(strings.Trim(name, "._-/: "), func(run string) string { return "__"[:min(len(run), 2)] })
}

var (
	separators = pattern.Lazy(`[._\-/: ]+`)
	// afterName matches what models leave behind a name: marks of theirs, the number of a call.
	afterName = pattern.Lazy(`(?s)(?:\(\)|<[|｜].*|:\d+)+$`)
)

// matchesTool reports whether a folded name is a tool's name, perhaps with a prefix or
// suffix.
func matchesTool(spelt, tool string) bool {
	if spelt == tool || strings.HasSuffix(spelt, "_"+tool) {
		return true
	}
	head, _, _ := strings.Cut(spelt, tool+"__")
	return head != spelt && (head == "" || strings.HasSuffix(head, "_"))
}

package reasoning

import "strings"

// Canonical returns the name of the tool that is meant by a name in any
// spelling a client or a model gives it: other separators and case
// ("think_plan", "Think/Plan"), a prefix ("mcp__savant__think_plan",
// "functions.think.plan"), a suffix after two underscores. Where no tool of
// the list is meant, or more than one, it is the name as given, and false.
func Canonical(name string, tools []Tool) (canonical string, known bool) {
	for i := range tools {
		if tools[i].Name == name {
			return name, true
		}
	}
	spelt := fold(name)
	best := ""
	ambiguous := false
	for i := range tools {
		candidate := fold(tools[i].Name)
		switch {
		case !meant(spelt, candidate) || tools[i].Name == best:
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

// fold writes a name in lower case with single underscores between its words;
// two or more in a row, which no tool's name has, become "__".
func fold(name string) string {
	var out strings.Builder
	run := 0
	for _, c := range strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "()")) {
		if strings.ContainsRune("._-/: ", c) {
			run++
			continue
		}
		if run > 0 && out.Len() > 0 {
			out.WriteString("__"[:min(run, 2)])
		}
		run = 0
		out.WriteRune(c)
	}
	return out.String()
}

// meant says whether a folded name is a tool's, or has it between a prefix and
// a suffix.
func meant(spelt, tool string) bool {
	if spelt == tool || strings.HasSuffix(spelt, "_"+tool) {
		return true
	}
	head, _, _ := strings.Cut(spelt, tool+"__")
	return head != spelt && (head == "" || strings.HasSuffix(head, "_"))
}

package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/internal/pattern"
	"savant/reasoning"
)

// Work that the small model is bad at. Words are matched by their stems: refactor,
// refactors, refactoring.
var (
	reviewOfMR = pattern.Lazy(`(?i)\breview\w*\b[^.?!]{0,80}\b(merge requests?|mrs?|pull requests?|prs?)\b|\b(merge requests?|mrs?|pull requests?|prs?)\b[^.?!]{0,40}\breview`)
	rework     = pattern.Lazy(`(?i)\b(refactor|restructur|reorgani[sz]|rewrit|renam|split|mov|extract)(s|e|es|ed|ing)?\b`)
	several    = pattern.Lazy(`(?i)\b(files|modules|packages|classes|folders|directories|services|codebase|code base|everywhere|across|throughout)\b`)
	fileName   = pattern.Lazy(`\b[\w-]+\.(?:go|py|js|jsx|ts|tsx|java|kt|c|h|cc|cpp|hpp|cs|rs|rb|php|swift|scala|sh|sql|md|yml|yaml|json|html|css|proto|tf)\b`)
	demanded   = pattern.Lazy(`(?i)\b(architect\w*|(re)?design(s|ed|ing)?|refactor\w*|migrat\w*|prov(e|es|ed|ing|able|ably)|proofs?|(in)?secur(e|es|ed|ing|ity|ely)|vulnerab\w*|rac(e|es|y)|deadlock\w*|trade-?offs?)\b`)
)

// demandOfWords returns why the words of a task need the large model, or "".
func demandOfWords(task string) string {
	task = strings.Join(strings.Fields(task), " ")
	switch {
	case reviewOfMR().MatchString(task):
		return "a merge request is to be reviewed"
	case rework().MatchString(task) && (several().MatchString(task) || len(slices.Compact(slices.Sorted(slices.Values(fileName().FindAllString(task, -1))))) > 1):
		return "several files are to be reworked"
	}
	if word := demanded().FindString(task); word != "" {
		return fmt.Sprintf("the goal says %q", word)
	}
	return ""
}

// largestDiff returns the number of lines of the largest diff in a request.
func largestDiff(request reasoning.Request) int {
	largest := diffLines(request.Goal)
	for _, each := range request.LastOutput {
		largest = max(largest, diffLines(string(each.Result)))
	}
	for _, step := range request.Memory.Steps {
		for _, each := range step.Outcomes {
			largest = max(largest, diffLines(string(each.Result)))
		}
	}
	return largest
}

var (
	// lineEnd matches a line end in plain text and in text that JSON escapes once or more.
	lineEnd = pattern.Lazy(`\\+n|\n`)
	hunk    = pattern.Lazy(`@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)
	counted = pattern.Lazy(`\\*"(?:additions|deletions)\\*":\s*(\d+)`)
)

// diffLines returns the number of lines of a diff: the lines of its hunks, or the
// tool's totals of added and deleted lines if the text is incomplete.
func diffLines(text string) int {
	said := 0
	for _, each := range counted().FindAllStringSubmatch(text, -1) {
		if number, err := strconv.Atoi(each[1]); err == nil {
			said += number
		}
	}
	start := hunk().FindStringIndex(text)
	if start == nil {
		return said
	}
	held := 0
	for _, line := range lineEnd().Split(text[start[1]:], -1)[1:] {
		if line != "" && strings.Contains("+- ", line[:1]) {
			held++
		}
	}
	return max(said, held)
}

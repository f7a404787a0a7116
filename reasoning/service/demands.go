package service

import (
	"fmt"
	"strconv"
	"strings"

	"savant/internal/pattern"
	"savant/reasoning"
)

// What a goal may ask for that the small model is not good at. Words are matched by
// their stems: refactor, refactors, refactoring.
var (
	reviewOfMR = pattern.Lazy(`(?i)\breview\w*\b[^.?!]{0,80}\b(merge requests?|mrs?|pull requests?|prs?)\b|\b(merge requests?|mrs?|pull requests?|prs?)\b[^.?!]{0,40}\breview`)
	rework     = pattern.Lazy(`(?i)\b(refactor|restructur|reorgani[sz]|rewrit|renam|split|mov|extract)(s|e|es|ed|ing)?\b`)
	several    = pattern.Lazy(`(?i)\b(files|modules|packages|classes|folders|directories|services|codebase|code base|everywhere|across|throughout)\b`)
	fileName   = pattern.Lazy(`\b[\w-]+\.(?:go|py|js|jsx|ts|tsx|java|kt|c|h|cc|cpp|hpp|cs|rs|rb|php|swift|scala|sh|sql|md|yml|yaml|json|html|css|proto|tf)\b`)
	demanded   = pattern.Lazy(`(?i)\b(architect\w*|(re)?design(s|ed|ing)?|refactor\w*|migrat\w*|prov(e|es|ed|ing|able|ably)|proofs?|(in)?secur(e|es|ed|ing|ity|ely)|vulnerab\w*|rac(e|es|y)|deadlock\w*|trade-?offs?)\b`)
)

// severalFiles is how many files are several.
const severalFiles = 2

// demandOfWords returns why the words of a task ask for the large model; "" if they
// do not.
func demandOfWords(task string) string {
	task = strings.Join(strings.Fields(task), " ")
	switch {
	case reviewOfMR().MatchString(task):
		return "a merge request is to be reviewed"
	case rework().MatchString(task) && (several().MatchString(task) || distinct(fileName().FindAllString(task, -1)) >= severalFiles):
		return "several files are to be reworked"
	}
	if word := demanded().FindString(task); word != "" {
		return fmt.Sprintf("the goal says %q", word)
	}
	return ""
}

func distinct(names []string) int {
	seen := map[string]bool{}
	for _, each := range names {
		seen[each] = true
	}
	return len(seen)
}

// largestDiff returns how many lines the largest diff has that a request holds.
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
	// lineEnd is the end of a line in a text, or in JSON that holds the text, or
	// in JSON that holds that JSON.
	lineEnd = pattern.Lazy(`\\+n|\n`)
	hunk    = pattern.Lazy(`@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)
	counted = pattern.Lazy(`\\*"(?:additions|deletions)\\*":\s*(\d+)`)
)

// diffLines returns how many lines a diff in a text has: those of its hunks, or as
// many as the tool says that were added and deleted, if the text has not all of them.
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

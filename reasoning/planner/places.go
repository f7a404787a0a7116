package planner

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"savant/internal/pattern"
	english "savant/internal/words"
)

// candidate is a line worth reading.
type candidate struct {
	path  string
	line  int
	text  string // the hit's
	score float64
}

// test reports whether a line is in a file of tests, or declares a test beside what it tests.
func (c candidate) test() bool { return isTest(c.path) || isTestCase().MatchString(c.text) }

// weighWords sets the inverse document frequency of each word of the goal, normalized
// to an average of 1. Words that no file contains get the average. Words for the kind of
// value that is asked for then count half: a place that has such a value need not say so.
func (p *planner) weighWords() {
	sum, found := 0.0, 0
	for i, w := range p.words {
		if with, all := p.filesWith(w); with > 0 {
			p.words[i].weight = english.Rarity(with, max(with, all))
			sum += p.words[i].weight
			found++
		}
	}
	for i, w := range p.words {
		if p.words[i].weight == 0 || sum == 0 {
			p.words[i].weight = 1
		} else {
			p.words[i].weight *= float64(found) / sum
		}
		p.words[i].absent = p.isAbsent(w)
		p.words[i].verb = slices.Contains(strings.Fields(p.question.verb), strings.ToLower(w.text))
		if w.in(p.question.sought) || p.words[i].verb && (p.question.list || p.question.kind == explain) {
			p.words[i].weight /= 2
		}
		if makingWords().MatchString(w.text) {
			p.words[i].weight /= 2
		}
	}
}

// filesWith returns how many of all files contain a word. If the search does not count
// files, it counts among the hits for all words.
func (p *planner) filesWith(w word) (with, all int) {
	if with, counted := p.found.counts.Words[w.text]; counted {
		return with, p.found.counts.Files
	}
	for _, hit := range p.found.rows {
		all++
		if w.in(strings.ToLower(hit.Path + " " + hit.Snippet)) {
			with++
		}
	}
	return with, all
}

// places returns the best lines to read, best first, with enough distance for separate
// readings.
func (p *planner) places() []candidate {
	var all []candidate
	for _, hit := range p.found.rows {
		if hit.Path == "" {
			continue
		}
		score := p.cover(field{hit.Snippet, 1}, field{hit.Path, inPath})/p.weight() + hit.share + filed*p.likenessOfFile(hit.Path)
		if isDocument(hit.Path) && documentHeading().MatchString(hit.Snippet) && p.weigh(hit.Snippet) > 0 {
			score += definition
		} else {
			bonus := 2 * definition * p.likeness(nameIn(hit.Snippet))
			if p.question.callers {
				bonus = -bonus
			}
			score += bonus
		}
		all = append(all, candidate{hit.Path, max(1, hit.Line), hit.Snippet, score * p.kindWeight(hit.Path, isTestCase().MatchString(hit.Snippet))})
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.path, b.path), a.line-b.line)
	})
	var best []candidate
	others := p.question.kind == tests && slices.ContainsFunc(all, candidate.test)
	for _, at := range all {
		if p.apart(best, at) && (!others || at.test()) {
			best = append(best, at)
		}
	}
	return best
}

// definition is the bonus of a hit that is a heading with words of the goal.
const definition = 0.25

// nameIn is the first name that a line of a text declares, or what a test in it is called, or "".
func nameIn(text string) (name string) {
	for line := range strings.Lines(text) {
		if match := isTestCase().FindStringSubmatch(line); match != nil && match[1] != "" {
			return match[1]
		}
		if name = declared(line, declarations...); name != "" {
			break
		}
	}
	return name
}

// apart reports whether no reading of a chosen place has another one in it.
func (p *planner) apart(chosen []candidate, at candidate) bool {
	before, lines := p.window(at.path)
	return !slices.ContainsFunc(chosen, func(other candidate) bool {
		return other.path == at.path && at.line >= other.line-before && at.line < other.line-before+lines
	})
}

// likenessOfFile is the similarity of the goal and the name of a file of the kind that
// suits the question; 0 for other files.
func (p *planner) likenessOfFile(name string) float64 {
	base := path.Base(name)
	suits := false
	switch p.question.kind {
	case explain:
		suits = isDocument(base)
	case locate:
		suits = !isDocument(base) && !isTest(name)
	case tests:
		suits = isTest(name)
	}
	if !suits {
		return 0
	}
	own := testAffix().ReplaceAllString(strings.TrimSuffix(base, path.Ext(base)), "")
	return max(p.likeness(own), p.likeness(path.Base(path.Dir(name))+" "+own))
}

// inExamples matches a file in a folder of examples, which shows how something is used and
// not what it is.
var inExamples = pattern.Lazy(`(?i)(?:^|/)_?(?:examples?|demos?|samples?)/`)

// testAffix is what makes the name of a file that of a test.
var testAffix = pattern.Lazy(`(?:[_.]test|\.spec)$|^test_`)

// kindWeight weighs a file by its kind. Sources rank above documents for "where"
// questions, below them for others; tests rank first if asked for, also beside what they test. Data and vendored
// code rank last, examples below what they use.
func (p *planner) kindWeight(name string, testCase bool) float64 {
	base := path.Base(name)
	switch {
	case isLegal().MatchString(base), strings.Contains(name, "testdata/") || strings.Contains(name, "node_modules/") || strings.Contains(name, "vendor/"):
		return 0.2
	case p.question.kind == tests && (testCase || isTest(name)):
		return 1
	case p.question.kind == tests:
		return 0.25
	case isTest(name):
		return 0.4
	case isDocument(base) && isOfThePast().MatchString(name):
		return 0.4
	case isDocument(base):
		switch p.question.kind {
		case explain:
			return 1.6
		case locate:
			return 0.5
		}
		return 0.6
	}
	if inExamples().MatchString(name) {
		return 0.6
	}
	switch path.Ext(base) {
	case ".json", ".yaml", ".yml", ".toml", ".sum", ".lock", ".svg", ".html", ".css":
		return 0.5
	}
	return 1
}

// inTests matches a file of tests.
var inTests = pattern.Lazy(`(?:^|/)(?:tests?|specs?|__tests__)/|[_.]test\.|\.spec\.|(?:^|/)test_[^/]*$`)

func isTest(name string) bool { return inTests().MatchString(name) }

// isLegal matches a document that is about the rights to all others.
var isLegal = pattern.Lazy(`^(?i:(?:un)?licen[cs]e|copying|copyright|notice|authors)\b`)

// isOfThePast matches a document that says what was, and not what is.
var isOfThePast = pattern.Lazy(`(?i)(?:^|/)(?:change|history|release|news|upgrad|migrat)[^/]*$`)

func isDocument(name string) bool {
	return slices.Contains([]string{".md", ".mdx", ".rst", ".txt", ".adoc"}, path.Ext(name))
}

// modifiers may stand before a declaration.
const modifiers = `(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|override|unsafe|declare|module\.exports =|pub(?:\([^)]*\))?)\s+)*`

// declarations match lines that declare a name: with a keyword, as a constant or variable of
// the file, as a method without a keyword, and as what has a literal value.
var declarations = []func() *regexp.Regexp{
	pattern.Lazy(`^\s*` + modifiers + `(?:func(?: \([^)]*\))?|type|class|def|fn|interface|struct|enum|trait|function\*?)\s+([A-Za-z_$][\w$]*)`),
	pattern.Lazy(`^` + modifiers + `(?:const|let|var|static)\s+(?:mut\s+)?([A-Za-z_$][\w$]*)|^\s+(?:(?:public|private|protected|static|final|readonly)\s+)+(?:[\w<>\[\]]+\s+)?(#?[A-Za-z_]\w*)(?::[^=]+|\s*)[=;]|^\s+` + modifiers + `const\s+([A-Z][A-Z0-9_]+)\b`),
	pattern.Lazy(`^(?:[\w$]+\.)*([A-Za-z_$][\w$]*)(?:\s*:\s*[\w.\[\], |]+)?\s*=\s`),
	pattern.Lazy(`^\s+` + modifiers + `(?:[\w<>\[\].,?]+\s+){0,3}?(#?[A-Za-z_$][\w$]*)(?:<[^(]*>)?\s?\([^;'"()]*\)\s*(?::[^{]*|throws [^{]*)?\{\s*$|^(?:[A-Za-z_]\w*[\s*]+)+([A-Za-z_]\w*)\s?\([^;'"()]*\)\s*\{?\s*$|` +
		`^\s*(?:[\w$]+\.[\w.$]+\(|\w+\(\w+,\s*)["']([\w$-]+)["'],\s*(?:async\s+)?(?:function\b|\(\w*\)\s*=>)`),
	assignment,
}

// statement matches the keyword of a statement that looks like a method.
var statement = pattern.Lazy(`^(?:if|for|while|switch|catch|with|function|func|const|let|var|return)$`)

// expression matches a line that begins with the keyword of one that declares nothing.
var expression = pattern.Lazy(`^\s*(?:return|else|match|new|throw|await|case)\b`)

// keywords is how many of the declarations begin with a keyword.
const keywords = 2

// declared is the name that a line declares by one of the forms, or "".
func declared(line string, forms ...func() *regexp.Regexp) string {
	for _, form := range forms {
		if match := form().FindStringSubmatch(line); match != nil && !expression().MatchString(line) {
			if name := strings.Join(match[1:], ""); !statement().MatchString(name) {
				return name
			}
		}
	}
	return ""
}

// assignment matches a line that assigns a value to a name, such as in a block of
// constants.
// key matches a line that begins with a key or a field, and what stands before its value.
var key = pattern.Lazy(`^\s*["']?([A-Za-z_]\w*)["']?(\s*[:=])?`)

var assignment = pattern.Lazy(`^\s*([A-Za-z_]\w*)(?:\s+[\w.\[\]*]+)?\s*:?=\s*(?:-?\d|["'\x60])`)

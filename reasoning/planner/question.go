package planner

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"savant/internal/pattern"
	english "savant/internal/words"
)

// kind is what a goal asks for. It decides which sources are searched first.
type kind int

const (
	explain kind = iota // how, what, which, why: documents answer first
	locate              // where: code answers first
	tests               // which tests: tests answer first
	history             // who, when, what changed: the commits answer
	change              // asks for a change, which the planner cannot make
)

// question is a parsed goal.
type question struct {
	kind kind
	// subject is the goal without the words that select commits or tests.
	subject string
	period  period
	// value matches the expected value of a question about a number or a variable.
	value        func() *regexp.Regexp
	sought, verb string // the words for the kind of value; what is done with the subject
	// authors: the answer counts commits by author. when: the answer is dates.
	authors, when bool
	// list: the question asks for several things, so a list of them answers it.
	list bool
	// acts: the question asks where something is done, so a function answers it.
	acts bool
	// callers: the question asks what uses the subject, and not what declares it.
	callers bool
	// whether: the question asks whether something exists, so a word that no file contains
	// means no.
	whether bool
}

// period selects commits; a zero field does not restrict.
type period struct {
	last  int       // only that many, the newest
	since time.Time // only those after
	after string    // only those that are not in this tag
	paths []string  // only those that change these
}

var (
	leading     = pattern.Lazy(`^(?i:(?:please|kindly|now|and|ok|hey|could you|can you|would you|will you|i want you to|i would like you to|let us|let's)[\s,]+)+`)
	asksChange  = pattern.Lazy(`^(?i:fix|add|implement|refactor|rename|remove|delete|update|replace|move|bump|change|rewrite|correct|upgrade|install|commit|push|merge|revert|migrate|convert|reformat|format|create|edit|append|insert|write|mend|repair|improve|clean)\b`)
	asksWhere   = pattern.Lazy(`^(?i:(?:(?:show|tell) me |do you know |find out )?where|find|locate|.{0,16}\bthe (?:definition|declaration|implementation|location) of|(?:in|from|by) (?:which|what) ` + holder + `|(?:which|what) ` + holder + `\s+(?:\w+s|can|do))\b`)
	asksTests   = pattern.Lazy(`^(?i:(?:\w+\s+)?tests? (?:for|of)\b|(?:which|what|where are|list|show(?: me)?|find|is there|are there)\s+(?:(?:the|an?|any)\s+)?(?:\w+\s+)?(?:tests|test\s+(?:for|of|that|which|is|are|\w*(?:cover|check|exercis|verif|prov)\w*))\b|(?:where|how|is|are|what|which)\b.*\b(?:tested|covered by (?:\w+\s+)?tests?)\b|(?:has|have|does|do)\b.*\bha(?:s|ve) (?:an? |any )?tests?\b)`)
	testWords   = pattern.Lazy(`(?i)\b(?:test(?:s|ed)?|cover(?:s|ed|ing)?|check(?:s|ed|ing)?|exercis(?:es?|ed|ing)|verif(?:y|ies|ied|ying)|exists?|any)\b`)
	asksWhether = pattern.Lazy(`^(?i:is there|are there|does|do|has|have|can|could)\b`)
	asksWho     = pattern.Lazy(`^(?i:who(?:se|'s| is| has| have| are)?\s+(?:\w+\s+)?(?:wrote|written|changed?|authors?|authored|committed|commits?|created|added|made|touched|contributed|contributors?|introduced|removed|deleted|edited|modified|fixed|worked))\b`)
	asksWhen    = pattern.Lazy(`^(?i:when (?:was|were|did|has|have))\b`)
	asksPast    = pattern.Lazy(`(?i)^(?:what|which files?)(?:'s| has| have| was| were| is)?\s+(?:been\s+)?(?:changed|new|happened|modified)\b|^(?:which|what|show|list|summari[sz]e|tell)\b.*\b(?:commits|changelog|contributors|authors)\b|\b(?:last|latest|recent|newest) (?:\w+ )?(?:commits?|changes)\b|\b(?:commit|git) (?:history|log)\b|^how many (?:commits|authors|contributors)\b`)
	lastUnits   = pattern.Lazy(`(?i)\b(?:in |during |over |within )?(?:the )?(?:last|past|this|previous)\s+(?:(\d+|one|two|three|four|five|six|seven|eight|nine|ten|few|couple of)\s+)?(commit|day|week|month|year|hour)s?\b`)
	daysAgo     = pattern.Lazy(`(?i)\b(?:since )?(today|yesterday|recently)\b`)
	sinceDate   = pattern.Lazy(`(?i)\bsince\s+(\d{4}-\d{2}-\d{2})\b`)
	sinceTag    = pattern.Lazy(`(?i)\bsince\s+(?:the\s+)?(?:tag |release |version )?(v?\d+\.\d[\w.+-]*\w)`)
	namedPath   = pattern.Lazy("[\\w.~-]*/[\\w./~-]*\\w|\\b[\\w-]+\\.[a-z]{1,5}\\b|\\b[A-Z]{3,}[A-Z_]*\\.[a-z]+\\b")
	pastWords   = pattern.Lazy(`(?i)\b(?:who|when|what|which|whose|show|list|tell|me|most|commits?|committed|changed?|changes|wrote|written|write|authors?|authored|made|create[ds]?|add(?:ed)?|touched|contributed|contributors?|introduced|removed|deleted|edited|modified|fixed|worked|new|latest|recent|newest|happened|history|log|git|last|first|how many|there|files?|lines?|by|been|since|time|ever|on)\b`)
)

// holder matches what holds code. placeWords only ask where the subject itself is.
const holder = `(?:file|package|function|method|type|class|struct|interface|constant|module|folder|directory)`

var placeWords = pattern.Lazy(`(?i)^(?:in |from |by )?(?:which|what) ` + holder + `(?:\s+(?:defin|declar|implement|contain|hold|ha[sv])e?s?)?\b|^locate\b|\b(?:defined|declared|located|implemented|situated)\b|\b(?:lives?|resides?|found)\W*$|\b(?:definition|declaration|implementation|location|source|code|place) (?:of|for|where|that)\b`)

// asksVerb matches the verb of a question, in one of its groups.
var asksVerb = pattern.Lazy(`(?i)\b(?:do|does|can|could|should|must|may|to)\s+(?:i|you|we|one|people|users?)\s+(\pL+(?: off| out| up| down)?)|^(?:who|(?:which|what)(?: ` + holder + `|.*\b(?:variable|var|setting|flag|option))?)\s+(\pL+s(?: off| out| up| down)?)\b|^(?:where|(?:in |from )?wh(?:ich|at))\b.*\b(?:do|does|did)\b.*\s(\pL+)\W*$`)

// calling matches the verb of a question for what uses its subject.
var calling = pattern.Lazy(`(?i)\b(?:call|invok|us)e?[sd]\b`)

// asksList matches a question for things: which, or what, before a plural.
var asksList = pattern.Lazy(`^(?i:which\s+[\w-]*[^\Wsui]s\b|(?:which|what)\s+(?:[\w-]+\s+){0,2}?[\w-]*[^\Wsui]s\s+(?:are|do|does|can|may|must|have|exist)\b)`)

// Patterns of questions for a value, and of values.
var (
	asksNumber   = pattern.Lazy(`(?i)\bhow (?:many|much|long|often|big|large)\b|\b(?:default|maximum|minimum|limit|number|timeout|version|value|code|port|size)s?\b`)
	number       = pattern.Lazy(`\d|(?i:\b(?:one|two|three|four|five|six|seven|eight|nine|ten|none|null|nil|true|false|unlimited)\b)`)
	asksVariable = pattern.Lazy(`(?i)\b(?:env(?:ironment)? )?(?:variable|var)s?\b`)
	variable     = pattern.Lazy(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|(?i:env[\w"'.]*)[("'.\[ ]+[A-Z][A-Z0-9]{2,}\b|["\x60$][A-Z][A-Z0-9]{2,}["\x60]`)
	sizeWords    = pattern.Lazy(`(?i)\b(?:default|maximum|minimum|number|value|name|options?|settings?|flags?|parameters?|arguments?)\b|` + makingForms)
	makingWords  = pattern.Lazy(makingForms)
)

// makingForms match words by which a question asks where something is made. The code says
// what it does by other words.
const makingForms = `(?i)\b(?:(?:decid|determin|comput|calculat|perform|handl)e[ds]?|ch[oe]+sen?s?|whether|set|done)\b`

var numbers = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// ask parses a goal; now is the reference time.
func ask(goal string, now time.Time) question {
	text := strings.TrimSpace(leading().ReplaceAllString(strings.TrimSpace(goal), ""))
	asked := question{subject: goal, whether: asksWhether().MatchString(text)}
	is := func(expression func() *regexp.Regexp) bool { return expression().MatchString(text) }
	switch {
	case is(asksChange):
		asked.kind = change
	case is(asksWho), is(asksWhen), is(asksPast):
		asked.kind, asked.when = history, is(asksWhen)
		asked.authors = is(asksWho) || strings.Contains(text, "contributors") || strings.Contains(text, "authors")
		asked.period, asked.subject = periodOf(text, now)
	case is(asksTests):
		asked.kind, asked.subject = tests, testWords().ReplaceAllString(text, " ")
	case is(asksWhere) && !is(asksList):
		asked.kind, asked.subject = locate, placeWords().ReplaceAllString(text, " ")
		asked.acts = slices.ContainsFunc(english.Split(asked.subject), isParticiple)
	}
	asked.list = asked.kind == explain && is(asksList)
	asked.verb = asked.verbOf(strings.ToLower(text))
	if asked.callers = calling().MatchString(asked.verb); asked.callers {
		asked.subject = calling().ReplaceAllString(asked.subject, " ")
	}
	asked.sought = strings.ToLower(strings.Join(append(sizeWords().FindAllString(text, -1), asksVariable().FindString(text)), " "))
	switch {
	case is(asksVariable):
		asked.value = variable
	case is(asksNumber):
		asked.value = number
	}
	return asked
}

// isParticiple reports whether a lower-case word looks like a past participle.
func isParticiple(word string) bool {
	return len(word) > len("ed")+minVerb && strings.HasSuffix(word, "ed") || english.Irregular(word) != nil
}

// verbOf returns the verb of a question in lower case, or "": of one that asks where, or for
// several things, the last participle.
func (q question) verbOf(text string) (verb string) {
	if match := asksVerb().FindStringSubmatch(text); match != nil {
		return match[1] + match[2] + match[3]
	}
	for _, word := range english.Split(q.subject) {
		if (q.acts || q.list) && isParticiple(word) {
			verb = word
		}
	}
	return verb
}

// periodOf returns the period that a text selects, and the rest of the text.
func periodOf(text string, now time.Time) (chosen period, rest string) {
	take := func(expression func() *regexp.Regexp, use func(match []string)) {
		if match := expression().FindStringSubmatch(text); match != nil {
			use(match)
			text = strings.Replace(text, match[0], " ", 1)
		}
	}
	take(sinceDate, func(match []string) { chosen.since, _ = time.ParseInLocation(time.DateOnly, match[1], now.Location()) })
	take(sinceTag, func(match []string) { chosen.after = match[1] })
	take(lastUnits, func(match []string) { chosen.count(match[1], strings.ToLower(match[2]), now) })
	take(daysAgo, func(match []string) {
		days := map[string]int{"today": 0, "yesterday": 1, "recently": 14}[strings.ToLower(match[1])]
		chosen.since = time.Date(now.Year(), now.Month(), now.Day()-days, 0, 0, 0, 0, now.Location())
	})
	for _, named := range namedPath().FindAllString(text, -1) {
		chosen.paths = append(chosen.paths, path.Clean(named))
		text = strings.Replace(text, named, " ", 1)
	}
	return chosen, pastWords().ReplaceAllString(text, " ")
}

// count restricts the period to a number of commits, or of days and other units.
func (c *period) count(amount, unit string, now time.Time) {
	number, err := strconv.Atoi(amount)
	if amount = strings.ToLower(amount); err != nil {
		number = max(1, slices.Index(numbers, amount))
		switch amount {
		case "few":
			number = 3
		case "couple of":
			number = 2
		}
	}
	switch unit {
	case "commit":
		c.last = number
	case "hour":
		c.since = now.Add(-time.Duration(number) * time.Hour)
	case "day":
		c.since = now.AddDate(0, 0, -number)
	case "week":
		c.since = now.AddDate(0, 0, -7*number)
	case "month":
		c.since = now.AddDate(0, -number, 0)
	case "year":
		c.since = now.AddDate(-number, 0, 0)
	}
}

// globs match the files that suit a question best, one list for each search beside that of
// all files: sources, which examples and pages may hide, documents, or tests.
func (q question) globs() (searches [][]string) {
	if q.kind == locate || q.kind == explain && (q.list || q.value != nil) {
		searches = append(searches, []string{"src", "lib", "pkg", "internal", "cmd", "app", "packages", "crates"})
	}
	switch q.kind {
	case explain:
		searches = append(searches, []string{"*.md", "*.mdx", "*.rst", "*.adoc", "*.txt"})
	case tests:
		searches = append(searches, []string{"*_test.*", "*.test.*", "*.spec.*", "test_*", "**/tests/**", "**/test/**"})
	}
	return searches
}

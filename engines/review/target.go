package review

import (
	"slices"
	"strings"
	"unicode/utf8"

	"savant/internal/pattern"
	"savant/internal/words"
)

// standing is what a word of a target is taken for. The words of the first standing that
// has names name the target.
type standing int

const (
	// marked words stand in quotation marks, beside the word branch or behind a preposition.
	marked standing = iota
	// foreign words have more than the letters a to z.
	foreign
	unmarked
)

// word is a word of a target that may be a name.
type word struct {
	forms    []string // as it is written, and without the punctuation around it
	standing standing
	firm     bool // it is a name, so the target is unknown if nothing is found
	called   bool // it is said to be a name, so nothing else may be reviewed
	base     bool // it names what the change is compared with
}

var (
	quotation = pattern.Lazy("(?:^|[\\s(])(?:(?i:branch|tag)\\s+(?:\"[^\"\n]+\"|“[^”\n]+”)|\"[^\\s\"]+\"|`[^\\s`]+`|'[^\\s']+'|“[^\\s”]+”|‘[^\\s’]+’|«[^\\s»]+»)")
	// workingTree is how people call what they have not committed, but not "the code branch".
	workingTree = pattern.Lazy(`(?i)\b(?:my|our|this|these|the|local|uncommitted|unstaged|staged|working)\s+` +
		`(?:(?:local|uncommitted|unstaged|staged|latest|last|current|recent|own|new|working)\s+)*(?:changes?|code|diff|work|edits|tree|copy)(\s+(?:branch|tag)\b|[.,;:!?)]*(?:\s|$))`)
	codeReview  = pattern.Lazy(`(?i)\bcode\s+review\b`)
	lastCommits = pattern.Lazy(`(?i)\b(?:last|latest|previous)\s+(?:(\d{1,3})\s+)?commits?\b`)
	notLetters  = pattern.Lazy(`[^A-Za-z'’]`)
	// requestName is pr7, #7, !7, owner/name#7 or group/name!7.
	requestName = pattern.Lazy(`^(?:(?i:pr|mr|pull)[-/]?[#!]?|([\w.-]+(?:/[\w.-]+)+)?([#!]))?(\d+)$`)
)

// The words around a name.
var (
	articles     = wordSet("the a an my our your his her their its this that these those current whole remote called named")
	kinds        = wordSet("branch tag commit ref revision")
	prepositions = wordSet("of from in")
	bases        = wordSet("against vs versus")
	requests     = wordSet("request pull pr mr")
	// reviewing has words about a review. They and stop words are names only behind the
	// word branch.
	reviewing = wordSet("review reviews reviewing check look please code change changes diff work without before after over now just merge prs mrs commits last latest previous local uncommitted because head")
)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for each := range strings.FieldsSeq(text) {
		set[each] = true
	}
	return set
}

// names returns the names that a word can be, with both sides of a range.
func (w word) names() []string {
	all := slices.Clone(w.forms)
	for _, each := range w.forms {
		if from, to, isRange := splitRange(each); isRange {
			all = append(all, from, to)
		}
	}
	return all
}

// maxWords bounds the words of a target that are looked up.
const maxWords = 200

// parseWords returns the words of a target that may be names. A single word is one.
// Beside the working tree (tree) only marked words are, and branches behind "on".
func parseWords(text string, tree bool) (found []word) {
	text = quotation().ReplaceAllStringFunc(text, func(match string) string {
		name := []rune(match[strings.IndexAny(match, "\"`'“‘«"):])
		// The marks may be a part of the name.
		found = append(found, word{forms: append([]string{string(name)}, formsOf(string(name[1:len(name)-1]))...), firm: true, called: true})
		return " "
	})
	fields := strings.Fields(text)
	fields = fields[:min(len(fields), maxWords)]
	bare := make([]string, len(fields))
	for i, each := range fields {
		bare[i] = strings.ToLower(bareWord(each))
	}
	alone := len(fields) == 1 && len(found) == 0 && !tree
	for i, each := range fields {
		before, kind := beforeName(fields[:i])
		within := i > 0 && articles[bare[i-1]] && i+1 < len(bare) && kinds[bare[i+1]] // the review branch
		bracketed := strings.ContainsAny(each[:1], "<{[")                             // no English
		if common(bare[i]) && !alone && !bracketed && !((ordinary(bare[i]) || requests[bare[i]]) && (kind || within)) && !(kind && (i+1 == len(fields) || pauses(each))) {
			continue
		}
		name := bareWord(each)
		strange := bracketed || notLetters().MatchString(name)
		called := !common(bare[i]) && (alone || kind || i+1 < len(bare) && kinds[bare[i+1]] && !pauses(each) || strange && before == "of")
		described := i > 0 && (bare[i-1] == "a" || bare[i-1] == "an") // in-depth
		w := word{forms: formsOf(each), standing: unmarked, called: called, firm: called || strange && !described, base: bases[before]}
		if !alone && (strings.HasSuffix(each, "...") || !strange && strings.HasSuffix(each, "..")) {
			w.forms = []string{name} // the words break off
		}
		if before == "tag" || i+1 < len(bare) && bare[i+1] == "tag" { // and no branch of that name
			w.forms = append([]string{"tags/" + name}, w.forms...)
		}
		number := requestName().FindStringSubmatch(name)
		switch {
		case called, alone, kind, within, prepositions[before], bases[before], strings.Contains(w.forms[0], ".."), number != nil && (requests[before] || number[3] != name):
			w.standing = marked
		case strange:
			w.standing = foreign
		case tree && before != "on":
			continue
		}
		found = append(found, w)
	}
	return found
}

// Punctuation before and behind a word.
const (
	opening = "([{<\"'`“‘«"
	closing = ".,;:!?…)]}>\"'`”’»"
)

// formsOf returns a word as it is written, and with less and less punctuation around it.
func formsOf(text string) (forms []string) {
	for _, rest := range []string{text, strings.TrimLeft(text, opening)} {
		for rest != "" && !slices.Contains(forms, rest) {
			forms = append(forms, rest)
			if _, size := utf8.DecodeLastRuneInString(rest); strings.ContainsAny(rest[len(rest)-size:], closing) {
				rest = rest[:len(rest)-size]
			}
		}
	}
	return forms
}

// bareWord returns a word without the punctuation around it.
func bareWord(text string) string {
	return strings.TrimRight(strings.TrimLeft(text, opening), closing)
}

// common reports whether a word is one of those around names.
func common(lower string) bool {
	return ordinary(lower) || articles[lower] || kinds[lower] || prepositions[lower] || bases[lower] || requests[lower]
}

func ordinary(lower string) bool { return reviewing[lower] || words.IsStop(lower) }

// pauses reports whether a clause ends behind a word.
func pauses(word string) bool { return strings.ContainsAny(word[len(word)-1:], ",;.!?") }

// beforeName returns the last word of a clause that is no article; kind: it announces a name,
// as in "branch x" and "branch called x", and does not follow one, as in "the x branch".
func beforeName(fields []string) (word string, kind bool) {
	for i, each := range slices.Backward(fields) {
		if pauses(each) {
			break
		}
		if word = strings.ToLower(bareWord(each)); !articles[word] {
			return word, kinds[word] && (i == 0 || pauses(fields[i-1]) || common(strings.ToLower(bareWord(fields[i-1]))))
		}
	}
	return "", false
}

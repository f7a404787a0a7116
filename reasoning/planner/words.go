package planner

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"

	"savant/internal/pattern"
	english "savant/internal/words"
)

// word is one word of the goal.
type word struct {
	text   string
	stem   string   // in lower case
	others []string // beginnings of its forms that do not begin with the stem
	also   string   // what code has in its place, for a search
	weight float64  // set by weighWords, once there are hits
	absent bool     // no file has it
	verb   bool     // it says what is done with the subject, as the code need not
}

// stopWords do not describe the subject of a question. They are in a file of their own, so
// that a search of this repository ranks it as data.
//
//go:embed stop_words.txt
var stopWords string

func isStop(lower string) bool {
	return english.IsStop(lower) || slices.Contains(strings.Fields(stopWords), lower)
}

// wordsOf returns the distinct words of a goal in order, without stop words. If only
// stop words remain and orAll is set, it returns all words.
func wordsOf(goal string, orAll bool) []word {
	all := strings.FieldsFunc(goal, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '.' && c != '/'
	})
	var words []word
	for _, keepStop := range []bool{false, orAll} {
		for i, text := range all {
			text = strings.Trim(text, "./_")
			lower := strings.ToLower(text)
			if text == "" || !keepStop && isStop(lower) || has(words, lower) {
				continue
			}
			made := word{text: text, stem: stem(lower), others: others(lower)}
			switch {
			case inCode[lower] != "":
				made.also = inCode[lower]
			case i+1 < len(all) && particle().MatchString(all[i+1]): // looked up: lookup
				made.also = made.stem + all[i+1]
			}
			made.others = append(made.others, strings.Fields(made.also)...)
			words = append(words, made)
		}
		if len(words) > 0 {
			break
		}
	}
	return words[:min(len(words), 8)]
}

// inCode has what code says in place of some words.
var inCode = map[string]string{"environment": "env environ getenv", "large": "size", "big": "size", "long": "timeout interval duration"}

// particle matches what code writes together with the verb before it.
var particle = pattern.Lazy(`^(?:up|down|out|off|back|over)$`)

func has(words []word, lower string) bool {
	return slices.ContainsFunc(words, func(w word) bool { return w.stem == stem(lower) })
}

// stem removes the most common English endings, so that "ends" matches "end" and
// "starvation" matches "starving".
func stem(lower string) string {
	noun := strings.TrimSuffix(lower, "s")
	if base, cut := strings.CutSuffix(noun, "ation"); cut && len(base) >= minNoun {
		return base
	}
	if base, cut := strings.CutSuffix(noun, "ion"); cut && len(base) > minNoun {
		return base
	}
	for _, ending := range []string{"ies", "ied", "ing", "ed", "es", "s"} {
		if base, cut := strings.CutSuffix(lower, ending); cut && len(base) >= 3 && !strings.HasSuffix(base, "s") {
			if last := len(base) - 1; len(ending) > 1 && last >= 3 && base[last] == base[last-1] && base[last] != 'l' {
				base = base[:last] // trimmed, running
			}
			return base
		}
	}
	return lower
}

// minNoun is the length of the shortest stem of a noun in -ation: "station" has none.
// One in -ion must be longer.
const minNoun = 5

// others returns the beginnings of forms of a word that its stem is not a beginning of:
// of an irregular verb, of a verb in -e (parse, parsing), and the verb of an agent
// (scanner, scan).
func others(lower string) (forms []string) {
	for _, form := range english.Irregular(lower) {
		if form != lower {
			forms = append(forms, form)
		}
	}
	if base, cut := strings.CutSuffix(lower, "e"); cut && len(base) >= minVerb {
		forms = append(forms, base+"ing")
	}
	base, agent := strings.CutSuffix(strings.TrimSuffix(lower, "s"), "er")
	if last := len(base) - 1; agent && last >= minVerb {
		forms = append(forms, base+"ing", base+"e")
		if base[last] == base[last-1] {
			base = base[:last]
		}
		forms = append(forms, base)
	}
	return forms
}

// minVerb is the length of the shortest stem of a verb.
const minVerb = 3

// in reports whether lower-case text has a form of the word.
func (w word) in(lower string) bool {
	return mentions(lower, w.stem) || slices.ContainsFunc(w.others, func(form string) bool { return mentions(lower, form) })
}

// join writes words as one query.
func join(words []word) string {
	var texts []string
	for _, w := range words {
		texts = append(append(texts, w.text), strings.Fields(w.also)...)
	}
	return strings.Join(texts, " ")
}

// field is a text and the weight of its words.
type field struct {
	text   string
	factor float64
}

// cover scores texts against the goal: the sum of the weights of its words, each times
// the factor of the best text that contains it.
func (p *planner) cover(fields ...field) float64 {
	for i := range fields {
		fields[i].text = strings.ToLower(fields[i].text)
	}
	total := 0.0
	for _, w := range p.words {
		best := 0.0
		for _, f := range fields {
			if w.in(f.text) {
				best = max(best, f.factor)
			}
		}
		total += w.weight * best
	}
	return total
}

// weigh is cover for one text.
func (p *planner) weigh(text string) float64 { return p.cover(field{text, 1}) }

// coverage is the weighted fraction of the goal's words in some texts together, from 0 to
// 1.
func (p *planner) coverage(texts ...string) float64 {
	return p.weigh(strings.Join(texts, " ")) / max(p.weight(), 1)
}

// likeness is the similarity of a title and the goal: 1 if both have the same words.
func (p *planner) likeness(title string) float64 {
	parts := titlePart().FindAllString(title, -1)
	fits := 0
	for _, part := range parts {
		if english.IsStop(strings.ToLower(part)) || p.weigh(part) > 0 || slices.ContainsFunc(p.words, func(w word) bool { return strings.Contains(w.stem, strings.ToLower(part)) }) {
			fits++
		}
	}
	return p.coverage(title) * float64(fits) / float64(max(1, len(parts)))
}

// titlePart is a word of a title, or a part of an identifier.
var titlePart = pattern.Lazy(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// weight is the sum of the weights of the goal's words.
func (p *planner) weight() (sum float64) {
	for _, w := range p.words {
		sum += w.weight
	}
	return sum
}

// maxShort is the length up to which a word must match as a whole: "os" does not match
// "host".
const maxShort = 2

// mentions reports whether lower-case text contains a word that begins with stem.
// Numbers and short words must match as a whole.
func mentions(lower, stem string) bool {
	for from := 0; ; {
		at := strings.Index(lower[from:], stem)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(stem)
		begins := at == 0 || !isLetter(lower[at-1])
		switch {
		case isDigit(stem[0]):
			if (at == 0 || !isDigit(lower[at-1])) && (end == len(lower) || !isDigit(lower[end])) {
				return true
			}
		case len(stem) <= maxShort:
			if rest := strings.TrimPrefix(lower[end:], "s"); begins && (end == len(lower) || !isLetter(lower[end]) || rest == "" || !isLetter(rest[0])) {
				return true
			}
		case begins || len(stem) > 4:
			return true
		}
		from = at + 1
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }

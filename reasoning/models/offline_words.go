package models

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// word is one word of the goal, and those that stand for it in code.
type word struct {
	text    string
	related []string
}

// vocabulary is what the planner knows of words. stop say how a question is
// asked, not what about. related are words of programs by the words people use
// for them: they count less, since they may mean something else. common are
// packages and receivers whose members tell nothing of a project.
type vocabulary struct {
	Stop    []string            `json:"stop"`
	Related map[string][]string `json:"related"`
	Common  []string            `json:"common"`
}

// The vocabulary is kept in a file of its own, which a search of this
// repository ranks as the data it is.
//
//go:embed offline_words.json
var vocabularyFile []byte

var known = sync.OnceValue(func() vocabulary { return readVocabulary(vocabularyFile) })

func readVocabulary(data []byte) (read vocabulary) {
	if err := json.Unmarshal(data, &read); err != nil {
		panic("models: the embedded vocabulary is not JSON: " + err.Error())
	}
	return read
}

// wordsOf returns the words of a goal that say what it is about, in its order,
// each once. Where a goal has no such word, all of its words are taken.
func wordsOf(goal string) []word {
	all := strings.FieldsFunc(goal, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '.' && c != '/'
	})
	var words []word
	for _, keepStop := range []bool{false, true} {
		for _, text := range all {
			text = strings.Trim(text, "./_")
			lower := strings.ToLower(text)
			if text == "" || !keepStop && slices.Contains(known().Stop, lower) || has(words, lower) {
				continue
			}
			words = append(words, word{text: text, related: relatedWords(lower)})
		}
		if len(words) > 0 {
			break
		}
	}
	return words[:min(len(words), 8)]
}

func has(words []word, lower string) bool {
	return slices.ContainsFunc(words, func(w word) bool { return stem(strings.ToLower(w.text)) == stem(lower) })
}

func relatedWords(lower string) []string {
	if found := known().Related[lower]; found != nil {
		return found
	}
	return known().Related[stem(lower)]
}

// stem cuts the commonest endings of English, so that "ends" meets "end".
func stem(lower string) string {
	for _, ending := range []string{"ies", "ing", "ed", "es", "s"} {
		if base, cut := strings.CutSuffix(lower, ending); cut && len(base) >= 3 && !strings.HasSuffix(base, "s") {
			return base
		}
	}
	return lower
}

// join writes words as one query.
func join(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

func spell(words []word) string { return strings.Join(strings.Fields(join(words)), ", ") }

// relatedTo is one query of the words that stand for those of the goal: first
// those that stand for several of them.
func relatedTo(words []word) string {
	shared := map[string]int{}
	var all []string
	for _, w := range words {
		for _, each := range w.related {
			if shared[each]++; shared[each] == 1 {
				all = append(all, each)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return shared[b] - shared[a] })
	return strings.Join(all[:min(len(all), maxRelated)], " ")
}

// maxRelated is how many related words one query has.
const maxRelated = 5

// rarest guesses the word that finds least: one spelled like an identifier,
// else the longest; the first of equals.
func rarest(words []word) word {
	return slices.MaxFunc(words, func(a, b word) int { return rarity(a) - rarity(b) })
}

func rarity(w word) int {
	score := len(w.text)
	if strings.ContainsAny(w.text, "_./") || strings.ToLower(w.text[1:]) != w.text[1:] {
		score += 20
	}
	return score
}

// weigh says how much of the goal a text holds: a word counts by its weight,
// one that stands for it a third of that.
func weigh(text string, words []word, weights []float64) float64 {
	lower := strings.ToLower(text)
	total := 0.0
	for i, w := range words {
		switch {
		case mentions(lower, stem(strings.ToLower(w.text))):
			total += weights[i]
		case slices.ContainsFunc(w.related, func(each string) bool { return mentions(lower, each) }):
			total += weights[i] / 3
		}
	}
	return total
}

// mentions finds a word, or the beginning of one, in lower-case text.
func mentions(lower, stem string) bool {
	for from := 0; ; {
		at := strings.Index(lower[from:], stem)
		if at < 0 {
			return false
		}
		at += from
		if at == 0 || !isLetter(lower[at-1]) || len(stem) > 4 {
			return true
		}
		from = at + 1
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }

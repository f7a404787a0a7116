package models

import (
	"slices"
	"strings"
	"unicode"
)

// word is one word of the goal, and those that stand for it in code.
type word struct {
	text    string
	related []string
}

// stop are words that say how a question is asked, not what about.
var stop = strings.Fields(`a about after all also am an and any are as at be been before being but by can could
	describe did do does done each explain find for from get give had has have how i if in into is it its just know let
	list like look main make me my need of on one or our out please project question repo repository see should show
	so some such summarise summarize tell than that the their them then there these they this those through to under
	up us use used uses using want was we were what when where which while who whose why will with work works would
	you your code file files function implemented defined happen happens kind way`)

// related are words of programs by the words people use for them. They count
// half: they may mean something else.
var related = map[string][]string{
	"stdio":   {"stdin", "stdout", "serve", "stream"},
	"loop":    {"serve", "receive", "next", "each"},
	"end":     {"stop", "close", "finish", "eof", "done"},
	"start":   {"begin", "open", "serve", "boot"},
	"config":  {"settings", "configuration", "option"},
	"setting": {"settings", "configuration", "flag"},
	"error":   {"fault", "err", "failure"},
	"save":    {"write", "store", "persist", "append"},
	"load":    {"read", "open", "parse"},
	"delete":  {"remove", "purge", "prune"},
	"test":    {"check", "verify"},
	"auth":    {"token", "login", "permission"},
	"network": {"http", "transport", "client", "server"},
	"retry":   {"attempt", "backoff", "again"},
	"cancel":  {"stop", "interrupt", "abort"},
	"index":   {"search", "fts"},
	"indexer": {"index", "search", "fts"},
	"command": {"cli", "cobra", "flag"},
	"secret":  {"token", "key", "redact"},
	"limit":   {"max", "bound"},
	"design":  {"architecture", "package"},
	"crash":   {"fsync", "atomic", "recover"},
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
			if text == "" || !keepStop && slices.Contains(stop, lower) || has(words, lower) {
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
	if found := related[lower]; found != nil {
		return found
	}
	return related[stem(lower)]
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

// relatedTo is one query of the words that stand for those of the goal.
func relatedTo(words []word) string {
	var all []string
	for _, w := range words {
		for _, each := range w.related[:min(len(w.related), 3)] {
			if !slices.Contains(all, each) {
				all = append(all, each)
			}
		}
	}
	return strings.Join(all[:min(len(all), 8)], " ")
}

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

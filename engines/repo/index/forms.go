package index

import (
	"slices"
	"strings"

	"savant/internal/words"
)

// minStem is the length of the shortest stem that other forms are made from.
// Shorter ones match too many unrelated words.
const minStem = 3

// endings are English suffixes in the order in which they are tried.
var endings = []string{"ations", "ation", "ators", "ator", "ings", "ing", "ers", "ies", "ied", "ions", "ion", "ed", "er", "es", "e", "s", "y"}

// forms returns other forms of a word to look for: parsed, parsing and parser for
// parse. Some of them are not English words.
func forms(word string) []string {
	var made []string
	for _, stem := range stems(word) {
		for _, ending := range append(endings, "") {
			made = append(made, stem+ending)
		}
		if doubled := stem[len(stem)-1:]; strings.Contains("bdglmnprt", doubled) {
			made = append(made, stem+doubled+"ed", stem+doubled+"ing", stem+doubled+"er")
		}
		if strings.HasSuffix(stem, "l") { // cancellation
			made = append(made, stem+"lation")
		}
	}
	for _, form := range words.Irregular(word) {
		if form[:minStem] == word[:minStem] { // what the forms share is looked for first
			made = append(made, form)
		}
	}
	slices.Sort(made)
	made = slices.Compact(made)
	return slices.DeleteFunc(made, func(form string) bool { return form == word || len(form) < minStem })
}

// stems returns the stem of an English word; none for other words.
func stems(word string) []string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return nil // not an English word
		}
	}
	for _, ending := range endings {
		stem, cut := strings.CutSuffix(word, ending)
		if !cut || len(stem) < minStem {
			continue
		}
		if last := len(stem) - 1; ending != "s" && stem[last] == stem[last-1] && len(stem) > minStem && strings.Contains("bdgmnprt", stem[last:]) {
			return []string{stem[:last]}
		}
		if last := len(stem) - 1; stem[last] == 'l' && stem[last-1] == 'l' { // cancelled, installed
			return []string{stem[:last], stem}
		}
		return []string{stem}
	}
	if len(word) < minStem {
		return nil
	}
	return []string{word}
}

// File names are often abbreviated, so a path also matches a long word by the word's
// first letters.
const (
	minAbbreviated  = 6
	minAbbreviation = 3
)

// abbreviations returns the beginnings by which a path matches a word, for example
// deref for dereference.
func abbreviations(word string) []string {
	if len(stems(word)) == 0 || len(word) < minAbbreviated {
		return nil
	}
	var made []string
	for length := minAbbreviation; length < len(word); length++ {
		made = append(made, word[:length])
	}
	return made
}

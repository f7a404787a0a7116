package index

import (
	"slices"
	"strings"
)

// minStem is the length of the shortest stem that other forms are made of: a
// shorter one has too many meanings.
const minStem = 3

// endings are English suffixes, in the order in which they are tried.
var endings = []string{"ations", "ation", "ators", "ator", "ings", "ing", "ers", "ies", "ied", "ions", "ion", "ed", "er", "es", "e", "s", "y"}

// forms returns other forms that a word of a question may have in a file:
// parsed, parsing and parser for parse. They need not all be words.
func forms(word string) []string {
	var made []string
	for _, stem := range stems(word) {
		for _, ending := range append(endings, "") {
			made = append(made, stem+ending)
		}
		if doubled := stem[len(stem)-1:]; strings.Contains("bdgmnprt", doubled) {
			made = append(made, stem+doubled+"ed", stem+doubled+"ing", stem+doubled+"er")
		}
	}
	slices.Sort(made)
	made = slices.Compact(made)
	return slices.DeleteFunc(made, func(form string) bool { return form == word || len(form) < minStem })
}

// stems returns the word without its ending, or the word.
func stems(word string) []string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return nil // not a word of prose
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
		return []string{stem}
	}
	if len(word) < minStem {
		return nil
	}
	return []string{word}
}

// Names of files are often abbreviated: a long word of a question is also looked
// for by its first letters.
const (
	minAbbreviated  = 6
	minAbbreviation = 3
)

// abbreviations returns the beginnings a path may have for a word: deref for
// dereference.
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

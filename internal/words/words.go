// Package words has the text functions that searches share: tokenizing, English stop
// words, stemming, and BM25.
package words

import (
	"math"
	"strings"
	"unicode"
)

// Split returns the runs of letters and digits in a text, in lower case.
func Split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

var stops = func() map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields("a about all an and any are as at be been but by can could did do does for from had has have how i if in into is it its " +
		"me my of on or our s should so some such t than that the their them then there these they this those to us was we were what when " +
		"where which while who why will with would you your") {
		set[word] = true
	}
	return set
}()

// IsStop reports whether a lower-case English word is a stop word.
func IsStop(word string) bool { return stops[word] }

// The constants of BM25 (Robertson and Zaragoza, 2009) with their usual values:
// saturation of repetition and influence of length.
const (
	saturation = 1.2
	lengthBias = 0.75
)

// Rarity is the inverse document frequency of BM25, for a word in some of all texts.
func Rarity(with, all int) float64 {
	return math.Log1p((float64(all-with) + 0.5) / (float64(with) + 0.5))
}

// Frequency is the term frequency component of BM25; length is the length of the text
// as a multiple of the mean.
func Frequency(times, length float64) float64 {
	return times * (saturation + 1) / (times + saturation*(1-lengthBias+lengthBias*length))
}

package fault

import (
	"cmp"
	"fmt"
	"strings"
)

// maxMisspelt bounds the names that are compared, in bytes. Longer ones are unlikely
// typing errors and would take seconds.
const maxMisspelt = 500

// minBeginning is the length from which a name may be the beginning of another one.
const minBeginning = 2

// maxCompared bounds the candidates that are compared letter by letter: a file with
// thousands of names may have thousands of mistakes.
const maxCompared = 500

// maxDistance is how many letters of a long name may be wrong. Of a shorter one it is a third,
// and always less than half of the longer of the two.
const maxDistance = 3

// Nearest returns the shortest candidate that begins with name, or else the one closest to
// it by edit distance, of several the first by bytes; "" if none is close enough, or there
// are too many to compare. Upper and lower case are the same.
func Nearest(name string, candidates []string) string {
	if len(name) > maxMisspelt {
		return ""
	}
	name = strings.ToLower(name)
	best := ""
	for _, candidate := range candidates {
		shorter := cmp.Or(cmp.Compare(len(candidate), len(best)), cmp.Compare(candidate, best)) < 0
		if len(name) >= minBeginning && strings.HasPrefix(strings.ToLower(candidate), name) && (best == "" || shorter) {
			best = candidate
		}
	}
	if best != "" || len(candidates) > maxCompared {
		return best
	}
	bestDistance := min((len(name)+1)/3, maxDistance) + 1
	for _, candidate := range candidates {
		d := distance(name, strings.ToLower(candidate))
		if 2*d < max(len(name), len(candidate)) && (d < bestDistance || d == bestDistance && candidate < best) {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// NearestHint is the part of a message that names the candidate nearest to name, by a format
// with one verb; "" where none is near.
func NearestHint(format, name string, candidates []string) string {
	nearest := Nearest(name, candidates)
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf(format, nearest)
}

// HintOf asks whether the candidate nearest to name was meant; no hint where none is near.
func HintOf(name string, candidates []string) Hint {
	return Hint{Text: NearestHint("did you mean %s?", name, candidates)}
}

// distance counts the letters to insert, delete, replace, or swap with the next one.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			next[j+1] = row[j]
			if a[i] != b[j] {
				next[j+1] = 1 + min(row[j], next[j], row[j+1])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

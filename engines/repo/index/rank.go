package index

import (
	"slices"
	"strings"

	"savant/internal/words"
)

// What a leaf adds to a score if it is in the name of a definition or in the path,
// as a multiple of its weight.
const (
	definedBoost = 1.2
	pathBoost    = 2.5
)

// How often a leaf is assumed to be in a file before the file is read.
const (
	guessSeldom = 1.5
	guessOften  = 2 * often
)

// testFactor multiplies the score of a test if the query is not about tests.
const testFactor = 0.6

// copyFactor multiplies the score of a file with the same text as a better one.
const copyFactor = 0.2

// kindFactor returns the factor by which a file's kind changes its score.
func (s *search) kindFactor(path string) float64 {
	if s.ofTests || !isTest(path) {
		return 1
	}
	return testFactor
}

// isTest reports whether a path is that of a test or its data, by the conventions
// of many languages.
func isTest(path string) bool {
	path = "/" + strings.ToLower(path)
	base := path[strings.LastIndexByte(path, '/')+1:]
	return strings.Contains(path, "/test/") || strings.Contains(path, "/tests/") || strings.Contains(path, "/testdata/") ||
		strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_")
}

// speaksOfTests reports whether a query is about tests.
func speaksOfTests(leaves []leaf) bool {
	return slices.ContainsFunc(leaves, func(l leaf) bool {
		return slices.ContainsFunc(l.parts, func(part string) bool { return strings.HasPrefix(part, "test") || part == "spec" })
	})
}

// count counts the files that have each leaf.
func (s *search) count(c *catalog) Counts {
	counts := Counts{Files: c.indexed, Words: map[string]int{}}
	for i, found := range s.found {
		files := slices.Concat(found.body, found.path)
		slices.Sort(files)
		counts.Words[s.leaves[i].text] = len(slices.Compact(files))
	}
	return counts
}

// estimate scores every file, by id, from the index alone. A score is multiplied by
// the share of the query's weight that the file's leaves have.
func (s *search) estimate(c *catalog) []float64 {
	scores := make([]float64, len(c.byID))
	covered := make([]float64, len(c.byID))
	whole := 0.0
	for i := range s.found {
		weight := words.Rarity(len(s.found[i].body), max(c.indexed, len(s.found[i].body)))
		s.weights = append(s.weights, weight)
		whole += weight
	}
	for i := range s.found {
		s.found[i].estimate(s.weights[i], s.average, c, scores, covered)
	}
	for id := range scores {
		if scores[id] > 0 {
			scores[id] *= covered[id] / whole * s.kindFactor(c.byID[id].path)
		}
	}
	return scores
}

// estimate adds one leaf to the scores, and its weight to what each file has.
func (p *postings) estimate(weight, average float64, c *catalog, scores, covered []float64) {
	seen := make(map[int64]bool, len(p.frequent))
	for _, id := range p.frequent {
		seen[id] = true
	}
	for _, id := range p.body {
		f := c.fileByID(id)
		if f == nil {
			continue
		}
		times := guessSeldom
		if seen[id] {
			times = guessOften
		}
		scores[id] += weight * words.Frequency(times, float64(f.words)/average)
		covered[id] += weight
	}
	for _, id := range p.defined {
		if c.fileByID(id) != nil {
			scores[id] += weight * definedBoost
		}
	}
	for _, id := range p.path {
		if c.fileByID(id) == nil {
			continue
		}
		scores[id] += weight * pathBoost
		if _, inBody := slices.BinarySearch(p.body, id); !inBody {
			covered[id] += weight
		}
	}
}

// score returns the score of a file by its text.
func (s *search) score(f finding) float64 {
	score, covered, whole := 0.0, 0.0, 0.0
	for i, weight := range s.weights {
		whole += weight
		if !f.found[i] {
			continue
		}
		covered += weight
		score += weight * words.Frequency(f.times[i], float64(f.file.words)/s.average)
		if f.defined[i] {
			score += weight * definedBoost
		}
		if f.inPath[i] {
			score += weight * pathBoost
		}
	}
	return score * covered / whole * s.kindFactor(f.file.path)
}

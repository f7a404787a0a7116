package repo

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/words"
)

// section is a part of the memory that is found as a unit.
type section struct {
	row  memoryRow
	text string
}

// maxSnippet is how much of a section is shown, in bytes.
const maxSnippet = 600

// splitAtHeadings splits a file of the memory into sections.
func splitAtHeadings(name, text string) []section {
	lines := strings.SplitAfter(text, "\n")
	title := titleOf(name, text)
	starts := []definition{{Name: title, Line: 1}}
	for _, each := range headings(text) {
		if each.Line == 1 {
			starts = starts[:0]
		}
		starts = append(starts, each)
	}
	var all []section
	for i, start := range starts {
		end := len(lines)
		if i+1 < len(starts) {
			end = starts[i+1].Line - 1
		}
		body := strings.TrimSpace(strings.Join(lines[start.Line-1:end], ""))
		if body == "" {
			continue
		}
		shown := title
		if start.Name != title {
			shown += ": " + start.Name
		}
		all = append(all, section{text: body, row: memoryRow{Source: "memory", Name: name, Title: shown,
			Path: path.Join(memoryFolder, name+memoryEnding), Line: start.Line}})
	}
	return all
}

// ranked returns the sections that contain words of the query, by BM25 with double
// weight for titles.
func ranked(sections []section, query string, limit int) []memoryRow {
	wanted := words.Split(query)
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	counts := make([]map[string]int, len(sections))
	holding := map[string]int{}
	total := 0
	for i, each := range sections {
		counts[i] = map[string]int{}
		for _, word := range words.Split(each.row.Title + "\n" + each.text) {
			counts[i][word]++
			total++
		}
		for word := range counts[i] {
			holding[word]++
		}
	}
	rows := []memoryRow{}
	for i, each := range sections {
		score := 0.0
		length := float64(len(words.Split(each.text))) * float64(len(sections)) / float64(max(1, total))
		for _, word := range wanted {
			score += words.Rarity(holding[word], len(sections)) * words.Frequency(float64(counts[i][word]), length)
		}
		if score > 0 {
			each.row.Score = math.Round(score*1000) / 1000
			each.row.Snippet = fault.Cut(each.text, maxSnippet)
			rows = append(rows, each.row)
		}
	}
	slices.SortStableFunc(rows, func(a, b memoryRow) int { return cmp.Compare(b.Score, a.Score) })
	return rows[:min(limit, len(rows))]
}

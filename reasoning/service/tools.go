package service

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"savant/internal/words"
	"savant/reasoning"
)

// Levels of detail of a tool's description, least first.
var details = []func(reasoning.Tool) string{
	func(tool reasoning.Tool) string { return tool.Name },
	named, brief, described,
}

// writeTools lists the tools with arguments and descriptions. If that is too long, the
// tools most relevant to the goal keep their descriptions as far as there is room; the
// others keep their arguments, or only their names.
func writeTools(request reasoning.Request, limit int) string {
	if len(request.Tools) == 0 {
		return "There are none: finish."
	}
	lines, used := toolLines(request.Tools, len(details)-1)
	if within(used, limit) {
		return strings.Join(lines, "")
	}
	least := 1
	if lines, used = toolLines(request.Tools, least); !within(used, limit) {
		least = 0
		if lines, used = toolLines(request.Tools, least); !within(used, limit) {
			return cut(strings.TrimRight(strings.ReplaceAll(strings.Join(lines, ""), "\n- ", ", "), "\n"), limit)
		}
	}
	for _, at := range fittest(request) {
		for detail := len(details) - 1; detail > least; detail-- {
			line := toolLine(request.Tools[at], detail)
			if more := used - len(lines[at]) + len(line); within(more, limit) {
				lines[at], used = line, more
				break
			}
		}
	}
	return strings.Join(lines, "")
}

// within reports whether a number of bytes fits a limit of tokens.
func within(bytes, limit int) bool { return (bytes+3)/4 <= limit }

// toolLines returns the lines of all tools at one level of detail, and their size in
// bytes.
func toolLines(tools []reasoning.Tool, detail int) (lines []string, used int) {
	for _, each := range tools {
		lines = append(lines, toolLine(each, detail))
		used += len(lines[len(lines)-1])
	}
	return lines, used
}

func toolLine(tool reasoning.Tool, detail int) string { return "- " + details[detail](tool) + "\n" }

// fittest ranks the tools by relevance to the goal: by the rarity of shared words, plus
// whether the run has called them. It returns their indexes.
func fittest(request reasoning.Request) []int {
	texts := make([][]string, len(request.Tools))
	numbers := make([]int, len(request.Tools))
	for i, each := range request.Tools {
		numbers[i], texts[i] = i, words.Split(each.Name+" "+each.Title+" "+each.Description)
	}
	scores := make([]float64, len(request.Tools))
	asked := slices.Compact(slices.Sorted(slices.Values(words.Split(request.Goal))))
	for _, word := range asked {
		if words.IsStop(word) || len(word) < 2 {
			continue
		}
		var with []int
		for i, text := range texts {
			if slices.ContainsFunc(text, func(other string) bool { return related(word, other) }) {
				with = append(with, i)
			}
		}
		for _, i := range with {
			scores[i] += words.Rarity(len(with), len(texts))
		}
	}
	for i, each := range request.Tools {
		if called(request, each.Name) {
			scores[i]++
		}
	}
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return numbers
}

// shortStem is the shortest common prefix of two forms of a word.
const shortStem = 4

// related reports whether two words differ only in their ending.
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || len(a) >= shortStem && strings.HasPrefix(b, a)
}

// called reports whether the run has called a tool.
func called(request reasoning.Request, tool string) bool {
	return slices.ContainsFunc(request.Memory.Steps, func(step reasoning.Step) bool {
		return slices.ContainsFunc(step.Outcomes, func(o reasoning.Outcome) bool { return o.ToolName == tool })
	})
}

func described(tool reasoning.Tool) string {
	return named(tool) + ": " + strings.Join(strings.Fields(tool.Description), " ")
}

func brief(tool reasoning.Tool) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(tool.Description), " "), ". ")
	return named(tool) + ": " + strings.TrimSuffix(first, ".")
}

// named is the signature of a tool: "git.log(limit?: integer, path: string)".
func named(tool reasoning.Tool) string {
	properties, required := propertiesOf(tool), gjson.GetBytes(tool.InputSchema, "required").Array()
	var arguments []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		written := name
		if !slices.ContainsFunc(required, func(each gjson.Result) bool { return each.Str == name }) {
			written += "?"
		}
		if kind := properties[name].Get("type").Str; kind != "" {
			written += ": " + kind
		}
		arguments = append(arguments, written)
	}
	return tool.Name + "(" + strings.Join(arguments, ", ") + ")"
}

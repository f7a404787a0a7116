package service

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"savant/reasoning"
)

// Prompt is what a model is shown, and its description.
type Prompt struct {
	System, User string
	Description  reasoning.Prompt
}

// budget is the size of a whole prompt, in estimated tokens.
const budget = 8000

// section is one part of a prompt.
type section struct {
	name, title string
	// budget is how large the section is meant to be, in estimated tokens.
	budget int
	// write returns the text within a number of tokens.
	write func(reasoning.Request, int) string
}

// sections are in the order of the prompt. Those of the system message are never
// cut. The others are cut to their budgets, and the last ones further if the whole
// is over its budget.
var sections = []section{
	{"system_schema", "", 500, writeSystem},
	{"persona", "Who you are", 800, func(r reasoning.Request, _ int) string { return r.Persona.Text }},
	{"driver", "How you work", 1200, func(r reasoning.Request, _ int) string { return r.Driver.Text }},
	{"rules", "Workflows that fit the goal", 200, writeRules},
	{"goal", "Goal", 1000, func(r reasoning.Request, limit int) string { return cut(r.Goal, limit) }},
	{"tools", "Tools", 2500, writeTools},
	{"last_output", "What the last step brought", 1500, writeLastOutput},
	{"memory", "Steps so far", 2000, writeMemory},
	{"repo", "Repository", 1500, writeRepo},
	{"extras", "Mind", 300, writeExtras},
}

// How many sections make the system message, and before which one further cutting
// ends.
const (
	inSystem    = 4
	firstCutOff = 7
)

// Tokens estimates the tokens of a text: one for each four bytes, rounded up.
func Tokens(text string) int { return (len(text) + 3) / 4 }

// Build writes the prompt of a request. The same request gives the same bytes.
func Build(request reasoning.Request) Prompt {
	texts := make([]string, len(sections))
	dropped := make([]int, len(sections))
	total := 0
	for i, each := range sections {
		texts[i], dropped[i] = each.within(request, each.budget)
		total += Tokens(texts[i])
	}
	for i := len(sections) - 1; i >= firstCutOff; i-- {
		if total > budget && texts[i] != "" {
			before := Tokens(texts[i])
			var more int
			texts[i], more = sections[i].within(request, max(0, before-(total-budget)-frame))
			dropped[i] = max(dropped[i], more)
			total += Tokens(texts[i]) - before
		}
	}
	return assemble(texts, dropped)
}

// frame is room for a section's title, in tokens.
const frame = 10

// unbounded is a limit that no section reaches: the whole section is measured.
const unbounded = 1 << 40

// within returns a section's text with its title, and how many tokens were left
// out of it.
func (s section) within(request reasoning.Request, limit int) (text string, dropped int) {
	text = s.write(request, limit)
	dropped = max(0, Tokens(s.write(request, unbounded))-Tokens(text))
	if text != "" && s.title != "" {
		text = "# " + s.title + "\n" + strings.TrimRight(text, "\n")
	}
	return text, dropped
}

// assemble joins the texts and describes them.
func assemble(texts []string, dropped []int) Prompt {
	var made Prompt
	for i, text := range texts {
		made.Description.Sections = append(made.Description.Sections,
			reasoning.Section{Name: sections[i].name, Tokens: Tokens(text), Trimmed: dropped[i]})
	}
	made.System, made.User = joined(texts[:inSystem]), joined(texts[inSystem:])
	made.Description.Tokens = Tokens(made.System) + Tokens(made.User)
	sum := sha256.Sum256([]byte(made.System + "\x00" + made.User))
	made.Description.Hash = hex.EncodeToString(sum[:])
	return made
}

func joined(texts []string) string {
	written := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" })
	return strings.TrimRight(strings.Join(written, "\n\n"), "\n")
}

// cut returns the beginning of a text within a number of tokens, and says how much
// was left out.
func cut(text string, limit int) string {
	if Tokens(text) <= limit {
		return text
	}
	const note = "\n… (%d tokens left out)"
	keep := max(0, 4*limit-len(note)-6)
	text, rest := text[:keep], text[keep:]
	text = strings.ToValidUTF8(text, "")
	if keep == 0 {
		return ""
	}
	return text + fmt.Sprintf(note, Tokens(rest))
}

package service

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"savant/reasoning"
)

// Prompt is what a model is shown, and what is told of it.
type Prompt struct {
	System, User string
	Description  reasoning.Prompt
}

// budget is the size of a whole prompt, in estimated tokens.
const budget = 8000

// section is one part of a prompt. The first four are never trimmed: their
// budgets say how large they are meant to be. The others are cut to theirs.
type section struct {
	name   string
	budget int
	// write returns the text within a number of tokens.
	write func(reasoning.Request, int) string
}

// sections are in the order of the prompt; the system message ends after the
// fourth. The goal and the tools are the question itself: they are cut to
// their own budgets, and take their room from what trimmed names.
var sections = []section{
	{"system_schema", 500, writeSystem},
	{"persona", 800, func(r reasoning.Request, _ int) string { return r.Persona.Text }},
	{"driver", 1200, func(r reasoning.Request, _ int) string { return r.Driver.Text }},
	{"rules", 200, writeRules},
	{"goal", 1000, func(r reasoning.Request, limit int) string { return cut(r.Goal, limit) }},
	{"tools", 2500, writeTools},
	{"last_output", 1500, writeLastOutput},
	{"memory", 2000, writeMemory},
	{"repo", 1500, writeRepo},
	{"extras", 300, writeExtras},
}

// inSystem is how many sections make the system message.
const inSystem = 4

// trimmed are given up when the whole is over its budget, in this order.
var trimmed = []string{"extras", "repo", "memory"}

// titles of the sections in the prompt; the system schema needs none.
var titles = map[string]string{"persona": "Who you are", "driver": "How you work", "rules": "Workflows that fit the goal",
	"goal": "Goal", "tools": "Tools", "last_output": "What the last step brought", "memory": "Steps so far",
	"repo": "Repository", "extras": "Mind"}

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
	for _, name := range trimmed {
		i := indexOf(name)
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

// within returns a section's text with its title, and how many tokens were
// left out of it.
func (s section) within(request reasoning.Request, limit int) (text string, dropped int) {
	whole := s.write(request, unbounded)
	text = whole
	if indexOf(s.name) >= inSystem {
		text = s.write(request, limit)
	}
	dropped = max(0, Tokens(whole)-Tokens(text))
	if text != "" && titles[s.name] != "" {
		text = "# " + titles[s.name] + "\n" + strings.TrimRight(text, "\n")
	}
	return text, dropped
}

// unbounded is more than any request has. Beyond the system message, what is
// written without a bound is measured and not shown.
const unbounded = 1 << 40

func indexOf(name string) int {
	for i := range sections {
		if sections[i].name == name {
			return i
		}
	}
	panic("service: no section " + name)
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
	var out strings.Builder
	for _, text := range texts {
		if text != "" {
			out.WriteString(text + "\n\n")
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

// cut keeps the beginning of a text within a number of tokens, and says how
// much is missing.
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

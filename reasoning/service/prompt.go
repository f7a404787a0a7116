package service

import (
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
)

// Prompt is a prompt with its description.
type Prompt struct {
	System, User string
	Parts        []reasoning.PromptPart
	Description  reasoning.Prompt
}

// The budgets of whole prompts, in estimated tokens. The sections' own budgets are
// those of SmallBudget; in a larger prompt they grow with it.
const (
	SmallBudget = 8000
	LargeBudget = 32_000
)

// section is one part of a prompt.
type section struct {
	name, title string
	// budget is the intended size of the section, in estimated tokens.
	budget int
	// system: it is in the system message.
	system bool
	// write returns the text within a number of tokens.
	write func(reasoning.Request, int) string
}

// decision has the sections of a prompt for an intent, in order. Sections of
// cutFirst are cut to their budgets, and further in its order if the prompt is over its
// budget. The others are never cut.
var decision = []section{
	{"system_schema", "", 500, true, writeSystem},
	{"persona", "Who you are", 800, true, func(r reasoning.Request, _ int) string { return r.Persona.Text }},
	{"driver", "How you work", 1200, true, func(r reasoning.Request, _ int) string { return r.Driver.Text }},
	{"rules", "Workflows that fit the goal", 200, true, writeRules},
	{"goal", "Goal", 1000, false, func(r reasoning.Request, _ int) string { return r.Goal }},
	{"tools", "Tools", 2500, false, writeTools},
	{"last_output", "What the last step brought", 1500, false, writeLastOutput},
	{"memory", "Steps so far", 2000, false, writeMemory},
	{"repo", "Repository", 1500, false, writeRepo},
	{"extras", "Mind", 300, false, writeExtras},
}

// answer has the sections of a prompt for the answer of a step.
var answer = []section{
	{"system_schema", "", 500, true, writeAnswerSystem},
	{"goal", "Task", 1000, false, func(r reasoning.Request, _ int) string { return r.Question.Task }},
	{"input", "Input", unbounded, false, writeInput},
	{"extras", "Mind", 300, false, writeNotes},
}

// cutFirst is the order in which sections are cut.
var cutFirst = []string{"extras", "repo", "memory", "tools", "last_output", "input"}

// Tokens estimates the tokens of a text: one for each four bytes, rounded up.
func Tokens(text string) int { return (len(text) + 3) / 4 }

// Build writes the prompt of a request within a budget. It is deterministic. If the
// sections that are never cut exceed the budget, the error is LIMIT_EXCEEDED. correction, appended
// at the end, says what was wrong with the previous answer.
func Build(request reasoning.Request, budget int, correction string) (Prompt, error) {
	made := draft{request: request, budget: budget, sections: decision}
	if request.Question != nil {
		made.sections = answer
	}
	if correction != "" {
		made.correction = "\n\n" + cut(correction, budget*maxCorrection/SmallBudget)
	}
	made.write()
	if made.over() > 0 {
		return Prompt{}, made.tooLarge()
	}
	return made.prompt(), nil
}

// maxCorrection is the budget of a correction, scaled like those of sections.
const maxCorrection = 500

// draft is a prompt under construction.
type draft struct {
	request    reasoning.Request
	budget     int
	sections   []section
	texts      []string // by section
	full       []int    // tokens of the whole section
	dropped    []int    // tokens left out of it
	correction string
}

// write fills the sections and cuts them until the prompt fits its budget or nothing is
// left to cut.
func (d *draft) write() {
	d.texts, d.full, d.dropped = make([]string, len(d.sections)), make([]int, len(d.sections)), make([]int, len(d.sections))
	for i, each := range d.sections {
		d.full[i] = Tokens(each.write(d.request, unbounded))
		d.fill(i, each.scaled(d.budget))
	}
	for _, name := range cutFirst {
		i := slices.IndexFunc(d.sections, func(s section) bool { return s.name == name })
		if i < 0 || d.texts[i] == "" {
			continue
		}
		// A text may exceed its limit slightly, so this may take several rounds.
		for limit := Tokens(d.texts[i]); d.over() > 0 && limit > 0; {
			limit = max(0, limit-d.over()-frame)
			d.fill(i, limit)
		}
		if d.over() > 0 {
			d.texts[i], d.dropped[i] = "", d.full[i]
		}
	}
}

// frame is room for a section's title, in tokens.
const frame = 10

// unbounded is a limit that no section reaches.
const unbounded = 1 << 40

// scaled returns the budget of the section in a prompt of a budget.
func (s section) scaled(budget int) int {
	if s.budget == unbounded {
		return s.budget
	}
	return s.budget * budget / SmallBudget
}

// fill writes a section within a number of tokens, with its title.
func (d *draft) fill(i, limit int) {
	each := d.sections[i]
	text := ""
	if limit > 0 {
		text = each.write(d.request, limit)
	}
	d.dropped[i] = max(0, d.full[i]-Tokens(text))
	if text != "" && each.title != "" {
		text = "# " + each.title + "\n" + strings.TrimRight(text, "\n")
	}
	d.texts[i] = text
}

// over is how many tokens the prompt is above its budget.
func (d *draft) over() int {
	system, user := d.messages()
	return Tokens(system) + Tokens(user) - d.budget
}

func (d *draft) messages() (system, user string) {
	return d.joined(true), d.joined(false) + d.correction
}

func (d *draft) joined(system bool) string {
	var written []string
	for i, text := range d.texts {
		if text != "" && d.sections[i].system == system {
			written = append(written, text)
		}
	}
	return strings.TrimRight(strings.Join(written, "\n\n"), "\n")
}

// prompt joins the texts and describes them.
func (d *draft) prompt() Prompt {
	var prompt Prompt
	for i, text := range d.texts {
		prompt.Description.Sections = append(prompt.Description.Sections,
			reasoning.Section{Name: d.sections[i].name, Tokens: Tokens(text), Trimmed: d.dropped[i]})
		if text != "" {
			prompt.Parts = append(prompt.Parts, reasoning.PromptPart{Name: d.sections[i].name, Text: text})
		}
		if d.sections[i].name == "input" && d.dropped[i] > 0 {
			prompt.Description.Seen = seen(d.request, text)
		}
	}
	if d.correction != "" {
		prompt.Parts = append(prompt.Parts, reasoning.PromptPart{Name: "correction", Text: strings.TrimSpace(d.correction)})
	}
	prompt.System, prompt.User = d.messages()
	prompt.Description.Tokens = Tokens(prompt.System) + Tokens(prompt.User)
	prompt.Description.Hash = jsonvalue.HexSum([]byte(prompt.System + "\x00" + prompt.User))
	return prompt
}

// tooLarge is the error of a prompt that cannot be cut further.
func (d *draft) tooLarge() error {
	what := fmt.Sprintf("step %d: the goal, the driver prompt and the persona, which are never cut,", d.request.Step)
	if q := d.request.Question; q != nil {
		what = "step " + q.StepID + ": its task and its schema, which are never cut,"
	}
	return fault.New(fault.LimitExceeded, "%s have %d tokens; the prompt has a budget of %d", what, d.over()+d.budget, d.budget).
		Attach("tokens", d.over()+d.budget).Attach("budget", d.budget)
}

// cut truncates a text to a number of tokens, with a note of how much is missing.
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

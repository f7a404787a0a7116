package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/reasoning"
)

// Rule is an AMR rule: a goal that contains one of its phrases runs a workflow instead
// of free steps.
type Rule struct {
	Name     string   `json:"name"`
	Phrases  []string `json:"phrases"`
	Workflow string   `json:"workflow"`
	Persona  string   `json:"persona"`
	// ParamFromGoal is the parameter of the workflow that takes the goal.
	ParamFromGoal string `json:"params_from_goal"`
	// Complex selects the large model.
	Complex bool `json:"complex"`
}

// Prompts is the content of prompts.yml: instructions for a model, and rules.
type Prompts struct {
	Driver reasoning.Driver `json:"-"`
	// Personas: the first is the default.
	Personas []reasoning.Persona `json:"personas"`
	Rules    []Rule              `json:"amr_rules"`
}

// persona returns the persona of a name; without a name, the first.
func (p Prompts) persona(name string) (reasoning.Persona, bool) {
	for _, each := range p.Personas {
		if each.Name == name {
			return each, true
		}
	}
	if name != "" || len(p.Personas) == 0 {
		return reasoning.Persona{}, name == ""
	}
	return p.Personas[0], true
}

// without is the message for an unknown persona, with the known names.
func (p Prompts) without(persona string) string {
	var known []string
	for _, each := range p.Personas {
		known = append(known, each.Name)
	}
	return fmt.Sprintf("prompts.yml has no %s; known: %s", fault.Cut(persona, 60), fault.Cut(strings.Join(known, ", "), 300))
}

// question matches the beginning of a goal that asks a question and orders nothing.
var question = pattern.Lazy(`(?i)^\W*(how|what|where|when|why|which|who|whose)\b`)

// triggered returns the rules with a phrase in the goal, in order. A goal that is a
// question triggers only phrases that are questions themselves.
func triggered(rules []Rule, goal string) []Rule {
	asks := question().MatchString(goal)
	return slices.DeleteFunc(slices.Clone(rules), func(rule Rule) bool {
		return !slices.ContainsFunc(rule.Phrases, func(phrase string) bool {
			return says(goal, phrase) && (!asks || question().MatchString(phrase))
		})
	})
}

// Placeholders in a phrase: gap matches up to three words, request the number of a pull or
// merge request (#12, !12, or 12 at the end of the text) or its address, commits a range of
// git (main...feature). A phrase that begins with whole must match the whole text.
const (
	gap     = "…"
	request = "{request}"
	commits = "{range}"
	whole   = "="
)

// says reports whether a text contains a phrase as whole words, ignoring case and the
// width of spaces.
func says(text, phrase string) bool {
	words := strings.Fields(phrase)
	begin, end := `(?i)(?:^|[^\pL\pN_])`, `(?:$|[^\pL\pN_])`
	if len(words) > 0 && words[0] == whole {
		words, begin, end = words[1:], `(?i)^\W*`, `\W*$`
	}
	if lacks(text, words) {
		return false
	}
	var wanted strings.Builder
	for i, each := range words {
		switch {
		case each == gap:
			wanted.WriteString(`(?: \S+){0,3}`)
			continue
		case i > 0:
			wanted.WriteByte(' ')
		}
		switch each {
		case request:
			wanted.WriteString(`(?:[#!]\d+|\d+\W*$|https?://\S+/(?:pulls?|merge_requests)/\d+\S*)`)
		case commits:
			wanted.WriteString(`[\w/@{}~^.-]*[\w}~^]\.{2,3}[\w/@{}~^-][\w./@{}~^-]*`)
		default:
			wanted.WriteString(regexp.QuoteMeta(each))
		}
	}
	expression, err := regexp.Compile(begin + wanted.String() + end)
	return len(words) > 0 && err == nil && expression.MatchString(strings.Join(strings.Fields(text), " "))
}

// lacks reports whether a text lacks one of some words, as it does for most phrases. It
// saves says from compiling an expression, which takes 0.1 ms for its classes of letters.
func lacks(text string, words []string) bool {
	fold := func(s string) string { return strings.ToUpper(strings.ToLower(s)) } // both, for ß and ς
	folded := fold(text)
	return slices.ContainsFunc(words, func(each string) bool {
		return each != gap && each != request && each != commits && !strings.Contains(folded, fold(each))
	})
}

// named returns the workflow that a goal names. A name that could be an ordinary
// word counts only next to the word workflow.
func named(workflows []string, goal string) string {
	for _, each := range workflows {
		unusual := strings.ContainsAny(each, "_-0123456789")
		if unusual && says(goal, each) || says(goal, "workflow "+each) || says(goal, each+" workflow") {
			return each
		}
	}
	return ""
}

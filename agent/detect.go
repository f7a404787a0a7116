package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"savant/fault"
	"savant/reasoning"
)

// Rule is an AMR rule: a goal that holds one of its phrases is met by a
// workflow instead of free steps.
type Rule struct {
	Name     string
	Phrases  []string
	Workflow string
	Persona  string
	// ParamFromGoal is the parameter of the workflow that takes the goal.
	ParamFromGoal string
}

// Prompts is what a model is told, read from prompts.yml.
type Prompts struct {
	Driver reasoning.Driver
	// Personas: the first is the default.
	Personas []reasoning.Persona
	Rules    []Rule
}

// persona returns the one of a name, or the first.
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

// without says that there is no persona of a name, and which there are.
func (p Prompts) without(persona string) string {
	var known []string
	for _, each := range p.Personas {
		known = append(known, each.Name)
	}
	return fmt.Sprintf("prompts.yml has no %s; known: %s", fault.Cut(persona, 60), fault.Cut(strings.Join(known, ", "), 300))
}

// triggered returns the rules that a goal meets, in their order.
func triggered(rules []Rule, goal string) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(rule Rule) bool {
		return !slices.ContainsFunc(rule.Phrases, func(phrase string) bool { return says(goal, phrase) })
	})
}

// says whether a text holds a phrase as whole words, in any case, however they
// are spaced.
func says(text, phrase string) bool {
	words := strings.Fields(phrase)
	if len(words) == 0 {
		return false
	}
	before := ' '
	for at, char := range text {
		if !inWord(before) && begins(text[at:], words) {
			return true
		}
		before = char
	}
	return false
}

// begins says whether a text begins with words and a word ends there.
func begins(text string, words []string) bool {
	for n, word := range words {
		rest := text
		if n > 0 {
			if rest = strings.TrimLeftFunc(text, unicode.IsSpace); len(rest) == len(text) {
				return false
			}
		}
		end := 0
		for range word {
			_, size := utf8.DecodeRuneInString(rest[end:])
			end += size
		}
		if !strings.EqualFold(rest[:end], word) {
			return false
		}
		text = rest[end:]
	}
	next, _ := utf8.DecodeRuneInString(text)
	return text == "" || !inWord(next)
}

func inWord(char rune) bool { return unicode.IsLetter(char) || unicode.IsNumber(char) || char == '_' }

// named returns the workflow that a goal names. A name that could be an
// ordinary word counts only beside the word workflow.
func named(workflows []string, goal string) string {
	for _, each := range workflows {
		unusual := strings.ContainsAny(each, "_-0123456789")
		if unusual && says(goal, each) || says(goal, "workflow "+each) || says(goal, each+" workflow") {
			return each
		}
	}
	return ""
}

package agent

import (
	"cmp"
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

// polite are words that may stand before an order, courteous those behind one.
const (
	polite    = `(?:(?:please|kindly|now|then|ok|okay|hi|hello there|can|could|would|will|you|let us|let's|just|i want you to|i would like you to|i'd like you to|do|give me|make|i need|i want|a|an|the|quick|full)\W+)*`
	courteous = `(?:\W+(?:please|now|again|thanks|thank you|for me|pls))*`
)

var (
	// question matches the beginning of a goal that asks a question and orders nothing.
	question = pattern.Lazy(`(?i)^\W*(how|what|where|when|why|which|who|whose)\b`)
	// inquiry matches the beginning of a goal that wants something told, and nothing run.
	inquiry = pattern.Lazy(`(?i)^\W*(?:(?:please|kindly|now|then|can|could|would|will|you|just|i want to know)\W+)*` +
		`(how|what|where|when|why|which|who|whose|is|are|was|were|does|did|has|have|should|may|explain|describe|tell|clarify|summari[sz]e|document)\b`)
	// request matches the words by which a question is an order all the same.
	request = pattern.Lazy(`(?i)\b(can|could|would|will) (you|we)\b`)
)

// triggered returns the rules with a phrase in the goal, in order. A goal that is a
// question triggers only phrases that are questions themselves.
func triggered(rules []Rule, goal string, branches []string) []Rule {
	return slices.DeleteFunc(slices.Clone(rules), func(rule Rule) bool { return !rule.matches(goal, question(), branches) })
}

// matches reports whether a goal contains a phrase of the rule, one that begins as the goal
// does if that begins with asking.
func (r Rule) matches(goal string, asking *regexp.Regexp, branches []string) bool {
	asks := asking.MatchString(goal)
	return slices.ContainsFunc(r.Phrases, func(phrase string) bool {
		return says(goal, phrase, branches...) && (!asks || asking.MatchString(phrase))
	})
}

// A phrase that begins with whole must match the whole text, but for words of politeness.
const whole = "="

// placeholders in a phrase: up to three words; what else one may say for "review"; what
// people call what they changed; the number of a pull or merge request (#12, owner/name!12,
// or 12 at the end of the text) or its address; a range of git (main...feature); a branch of the
// repository.
var placeholders = map[string]string{
	"…":         `(?: \S+){0,3}`,
	"{review}":  `(?:review|check|look over|go over|look through|inspect|examine|audit)`,
	"{changes}": `(?:(?:my|our|the|this|these|all|local|uncommitted|unstaged|staged|latest|last|recent|current|new|own|working) )+(?:changes?|diff|code|work|edits|patch|tree|copy)`,
	"{request}": `(?:(?:[\w.-]+(?:/[\w.-]+)+)?[#!]\d+|\d+\W*$|https?://\S+/(?:pulls?|merge_requests)/\d+\S*)`,
	"{branch}":  "[\"'`]?(?:%s)[\"'`]?",
	"{range}":   `[^\s:?*\[\\]*[^\s:?*\[\\.]\.{2,3}[^\s:?*\[\\.][^\s:?*\[\\]*`,
}

// says reports whether a text contains a phrase as whole words, ignoring case and the
// width of spaces.
func says(text, phrase string, branches ...string) bool {
	words := strings.Fields(phrase)
	var names []string
	for _, each := range branches {
		if !lacks(text, []string{each}) {
			names = append(names, regexp.QuoteMeta(each))
		}
	}
	begin, end := `(?i)(?:^|[^\pL\pN_])`, `(?:$|[^\pL\pN_])`
	if len(words) > 0 && words[0] == whole {
		words, begin, end = words[1:], `(?i)^\W*`+polite, courteous+`\W*$`
	}
	if lacks(text, words) || names == nil && slices.Contains(words, "{branch}") {
		return false
	}
	var wanted strings.Builder
	for i, each := range words {
		if i > 0 && each != "…" {
			wanted.WriteByte(' ')
		}
		part := cmp.Or(placeholders[each], regexp.QuoteMeta(each))
		if each == "{branch}" {
			part = fmt.Sprintf(part, strings.Join(names, "|"))
		}
		wanted.WriteString(part)
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
		return placeholders[each] == "" && !strings.Contains(folded, fold(each))
	})
}

// orderedWorkflow returns the workflow that a goal orders: the goal is its name, or begins with an
// order to run it. A name that could be an ordinary word is followed by nothing then, or
// stands beside the word workflow. A goal that asks about a workflow orders none.
func orderedWorkflow(workflows []string, goal string) string {
	goal = plainWords(goal)
	for _, each := range workflows {
		if strings.HasSuffix(goal, "?") && !request().MatchString(goal) || lacks(goal, []string{each}) {
			continue
		}
		name := "[\"'`]?" + regexp.QuoteMeta(each) + "[\"'`]?"
		end := `(?:$|[^\pL\pN_-].*)`
		if !strings.ContainsAny(each, "_-0123456789") {
			end = courteous + `\W*`
		}
		expression, err := regexp.Compile(`(?i)^\W*` + polite + `(?:(?:` + orders + `) ` + determiners + name + end +
			`|(?:` + orders + `|use|follow|do|call) ` + determiners + `(?:workflow ` + name + `|` + name + ` workflow)(?:$|[^\pL\pN_-].*)` +
			`|(?:the )?(?:workflow )?` + name + `(?: workflow)?` + courteous + `\W*)$`)
		if err == nil && expression.MatchString(goal) {
			return each
		}
	}
	return ""
}

const (
	orders      = `run|rerun|re-run|start|execute|launch|begin|trigger|invoke|perform|kick off`
	determiners = `(?:(?:the|a|my|our|your|this|workflow|named|called) )*`
)

package sessions

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/rules"
)

// CheckTool is the tool that judges a call without making it.
const CheckTool = "rules.check"

// ResourceURI is the resource that lists the rules.
const ResourceURI = "savant://rules"

type checkInput struct {
	Tool  string         `json:"tool" doc:"the name of the tool that would be called" example:"pay.refund"`
	Input map[string]any `json:"input,omitempty" doc:"its arguments" example:"{\"order\":\"A1\"}"`
}

// checked is what the rules say about a call.
type checked struct {
	Decision rules.Decision     `json:"decision" doc:"allow, refuse or ask"`
	Text     string             `json:"text,omitempty"`
	Missing  []rules.Suggestion `json:"missing,omitempty" doc:"the calls that would help"`
	Rules    []rules.Summary    `json:"rules,omitempty"`
}

// Tools returns the tools about rules. The registry has the tools that they judge.
func (k *Keeper) Tools(registry *engines.Registry) []engines.Tool {
	check := func(ctx context.Context, call engines.Call, in checkInput) (checked, error) {
		args, err := json.Marshal(in.Input)
		if err != nil {
			return checked{}, fault.New(fault.InvalidParams, "input: %w", err)
		}
		tool, err := registry.Seek(ctx, in.Tool)
		if err != nil {
			return checked{}, err
		}
		if in.Input == nil {
			args = []byte("{}")
		}
		accepted, err := registry.Accepted(tool.Name, args)
		if err != nil {
			return checked{}, err
		}
		verdict, refusal, err := k.Check(ctx, call, tool.Name, accepted)
		if err != nil {
			return checked{}, err
		}
		out := checked{Decision: verdict.Decision, Rules: verdict.Summaries()}
		switch {
		case refusal != nil:
			out.Text, out.Missing = refusal.Message(), verdict.Missing()
		case verdict.Decision == rules.Ask:
			out.Text = strings.Join(verdict.Questions(), "\n")
		}
		return out, nil
	}
	return []engines.Tool{engines.BindReadingCall(CheckTool, "Judge a call by the rules", check,
		"Say what the rules of this project say about a call, without making it: allow, refuse with the calls that would help, or ask a person.")}
}

// maxNote bounds what the description of a tool says about rules, in bytes.
const maxNote = 300

// ToolNotes implements engines.Rules. It has names alone: a folder's rules do not speak to
// a model before they refuse a call.
func (k *Keeper) ToolNotes() func(tool string) string {
	set, err := k.Set()
	return func(tool string) string {
		if err != nil {
			return "The rules of this project cannot be read: no tool is called."
		}
		notes := []string{}
		for _, rule := range set.Guards(tool) {
			if !rule.OfWorkflow() { // the run's first reply says those
				notes = append(notes, noteOf(rule))
			}
		}
		if len(notes) == 0 {
			return ""
		}
		return fault.Cut("Rules of this project: "+strings.Join(notes, "; "), maxNote)
	}
}

// noteOf says in a few words what a rule demands.
func noteOf(rule *rules.Rule) string {
	note := rule.ID + " (" + strings.Join(rule.Kinds(), ", ")
	if needs := rule.Needs(); len(needs) > 0 {
		note += " a call of " + strings.Join(needs, ", ")
	}
	return note + ")"
}

// maxNotes bounds what a driver prompt says about rules, in bytes.
const maxNotes = 2000

// Notes implements library.Rules. Like ToolNotes, it has names alone.
func (k *Keeper) Notes() string {
	set, err := k.Set()
	if err != nil {
		return "## Rules\n\nThe rules of this project cannot be read: no tool is called. Tell the person.\n"
	}
	lines := ""
	for _, rule := range set.All() {
		if !rule.Warn && !rule.OfWorkflow() {
			lines += "- `" + strings.Join(rule.Before, "`, `") + "`: " + noteOf(rule) + "\n"
		}
	}
	if lines == "" {
		return ""
	}
	return "## Rules\n\nThis project has rules about calls. One that breaks a rule is refused with RULE_REFUSED, which names the rule, what is\n" +
		"missing, and the call that helps: make that call first. Where a person has to approve, tell them, and make the same call again after\n" +
		"their answer. Do not look for another way to the same effect.\n\n" + fault.Cut(lines, maxNotes)
}

// Resource returns the text of the files of rules, for ResourceURI.
func (k *Keeper) Resource() (string, error) {
	all, err := readSources(k.options.Files)
	text := ""
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text += "# " + name + "\n" + all[name] + "\n"
	}
	return text, err
}

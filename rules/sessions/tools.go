package sessions

import (
	"context"
	"encoding/json"
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
	Decision string             `json:"decision" doc:"allow, refuse or ask"`
	Text     string             `json:"text,omitempty"`
	Missing  []rules.Suggestion `json:"missing,omitempty" doc:"the calls that would help"`
	Rules    []rules.Summary    `json:"rules,omitempty"`
}

var decisions = map[rules.Decision]string{rules.Allow: "allow", rules.Refuse: "refuse", rules.Ask: "ask"}

// Decision names what the rules decided: allow, refuse or ask.
func Decision(verdict rules.Verdict) string { return decisions[verdict.Decision] }

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
		verdict, err := k.Check(ctx, call, tool.Name, accepted)
		if err != nil {
			return checked{}, err
		}
		out := checked{Decision: Decision(verdict), Rules: verdict.Summaries()}
		switch verdict.Decision {
		case rules.Refuse:
			out.Text, out.Missing = verdict.Text(), verdict.Missing()
		case rules.Ask:
			out.Text = strings.Join(verdict.Questions(), "\n")
		}
		return out, nil
	}
	return []engines.Tool{engines.BindReadingCall(CheckTool, "Judge a call by the rules", check,
		"Say what the rules of this project say about a call, without making it: allow, refuse with the calls that would help, or ask a person.")}
}

// maxNote bounds what the description of a tool says about rules, in bytes.
const maxNote = 300

// Note implements engines.Rules. It has names alone: a folder's rules do not speak to a
// model before they refuse a call.
func (k *Keeper) Note(tool string) string {
	set, err := k.Set()
	if err != nil {
		return "The rules of this project cannot be read: no tool is called."
	}
	guards := set.Guards(tool)
	notes := make([]string, len(guards))
	for i, rule := range guards {
		notes[i] = rule.ID + " (" + strings.Join(rule.Kinds(), ", ")
		if needs := rule.Needs(); len(needs) > 0 {
			notes[i] += " a call of " + strings.Join(needs, ", ")
		}
		notes[i] += ")"
	}
	if len(notes) == 0 {
		return ""
	}
	return fault.Cut("Rules of this project: "+strings.Join(notes, "; "), maxNote)
}

// Resource returns the text of the files of rules, for ResourceURI.
func (k *Keeper) Resource() (string, error) {
	names, err := Files(k.options.Files, false)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, name := range names {
		source, err := Read(k.options.Files, name)
		if err != nil {
			return "", err
		}
		text.WriteString("# " + name + "\n" + string(source) + "\n")
	}
	return text.String(), nil
}

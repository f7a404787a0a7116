package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/reasoning"
	"savant/think/flow"
)

// maxText bounds a model's answer in bytes, maxTries the candidates in it that are
// parsed.
const (
	maxText  = 1 << 20
	maxTries = 32
)

// Parse extracts the intent from a model's text, which may hold it amid prose, thoughts
// and marks, as almost-JSON, with other names of its members or in the form of a call
// of another convention; Repairs lists what was repaired. Of several intents the last
// one that stands by itself counts; calls side by side are parallel. INVALID_INTENT
// describes the first object's error, or the two actions between which nothing decides.
func Parse(text string, tools []reasoning.Tool) (reasoning.Intent, error) {
	if len(text) > maxText {
		return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer is not an intent: it is larger than %d bytes", maxText)
	}
	answer := withoutThoughts(text, false)
	if found := marksIn(text); answer == "" && len(found) > 0 {
		answer = callsAtEnd(strings.TrimSpace(text[:found[len(found)-1].start]))
	}
	text = asObjects(answer, tools)
	var read []reading
	var first error
	for _, each := range spans(text, false) {
		one := readSpan(text, each, tools)
		if one.err == nil {
			read = append(read, one)
		} else if first == nil {
			first = one.err
		}
	}
	if object := fromYAML(text); len(read) == 0 && object != "" {
		if one := readSpan(object, span{end: len(object)}, tools); one.err == nil && one.stated {
			one.intent.Repairs = append([]string{"it was YAML"}, one.intent.Repairs...)
			return one.intent, nil
		}
	}
	switch {
	case len(read) > 0:
		return meant(read, tools)
	case first != nil:
		return reasoning.Intent{}, first
	}
	return reasoning.ParseIntent([]byte(text), tools)
}

var (
	yamlBlock = pattern.Lazy("(?s)```ya?ml\n(.*?)\n```")
	boldName  = pattern.Lazy(`(?m)^(?:[-*] )?\*\*(\w+)(?:\*\*:|:\*\*)`)
)

// fromYAML returns the JSON of a text that is a mapping in YAML, or has one in a fence; else "".
func fromYAML(text string) string {
	if block := yamlBlock().FindStringSubmatch(text); block != nil {
		text = block[1]
	}
	if members, err := flow.ReadYAML("", []byte(boldName().ReplaceAllString(text, "$1:"))); err == nil {
		return string(encode(members))
	}
	return ""
}

// reading is what a part of a model's text says as an intent.
type reading struct {
	span
	intent reasoning.Intent
	err    error
	// stated: the part names its action, or a tool that is offered.
	stated bool
}

// readSpan reads a part of a text, repairing almost-JSON and misnamed members.
func readSpan(text string, part span, tools []reasoning.Tool) reading {
	source := text[part.start:part.end]
	fixed, repairs, ok := repaired(source)
	if !ok {
		fixed = source
	}
	renamed, changed := rename(fixed, tools)
	if name := nameBefore(text[part.after:part.start], tools); name != "" && ok && !hasMember(fixed, "action") {
		renamed, changed = string(callObject(name, json.RawMessage(fixed))), true
	}
	if changed {
		repairs = append(repairs, "members had other names")
	}
	intent, err := reasoning.ParseIntent([]byte(renamed), tools)
	if strings.TrimSpace(text) != source {
		repairs = append([]string{"the intent stood amid other text"}, repairs...)
	}
	intent.Repairs = append(repairs, intent.Repairs...)
	stated := hasMember(fixed, "action") || hasMember(fixed, "Action")
	for _, call := range intent.AllCalls() {
		_, known := reasoning.Canonical(call.ToolName, tools)
		stated = stated || known
	}
	return reading{span: part, intent: intent, err: err, stated: stated}
}

// meant returns the one intent of several: the last that stands by itself. The error
// asks which of two different actions is meant.
func meant(read []reading, tools []reasoning.Tool) (reasoning.Intent, error) {
	if slices.ContainsFunc(read, func(r reading) bool { return r.stated }) {
		read = slices.DeleteFunc(read, func(r reading) bool { return !r.stated })
	}
	var actions []reading
	for _, each := range read {
		last := len(actions) - 1
		if last >= 0 && each.joined && bothCall(actions[last].intent, each.intent) {
			actions[last].intent, actions[last].alone = parallel(actions[last].intent, each.intent), actions[last].alone || each.alone
			continue
		}
		actions = append(actions, each)
	}
	chosen := actions[len(actions)-1]
	for _, each := range actions {
		if each.alone {
			chosen = each
		}
	}
	intent := chosen.intent
	for _, each := range actions {
		switch other := each.intent; {
		case other.Action == chosen.intent.Action && slices.EqualFunc(other.AllCalls(), chosen.intent.AllCalls(), sameCall): // of two answers or thoughts the later is a better wording
		case bothCall(other, intent) && readOnly(other, tools) && readOnly(intent, tools):
			if each.start < chosen.start {
				intent = parallel(other, intent)
			} else {
				intent = parallel(intent, other)
			}
		default:
			return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer is not an intent: it has two actions, %s and %s; write only the one that is to be done",
				actionName(other), actionName(chosen.intent))
		}
	}
	return intent, nil
}

func bothCall(a, b reasoning.Intent) bool {
	return a.Action == reasoning.ActionTool && b.Action == reasoning.ActionTool
}

func sameCall(a, b reasoning.Call) bool {
	return a.ToolName == b.ToolName && bytes.Equal(encode(a.Args), encode(b.Args))
}

// parallel joins the calls of two intents, each once.
func parallel(a, b reasoning.Intent) reasoning.Intent {
	calls := slices.Clone(a.AllCalls())
	for _, each := range b.AllCalls() {
		if !slices.ContainsFunc(calls, func(c reasoning.Call) bool { return sameCall(c, each) }) {
			calls = append(calls, each)
		}
	}
	if len(calls) > 1 {
		a.ToolName, a.Args, a.Calls = "", nil, calls
	}
	return a
}

// readOnly reports whether an intent only calls offered tools that change nothing.
func readOnly(intent reasoning.Intent, tools []reasoning.Tool) bool {
	return !slices.ContainsFunc(intent.AllCalls(), func(call reasoning.Call) bool {
		return !slices.ContainsFunc(tools, func(tool reasoning.Tool) bool { return tool.Name == call.ToolName && tool.ReadOnly })
	})
}

func actionName(intent reasoning.Intent) string {
	if calls := intent.AllCalls(); len(calls) > 0 {
		return fmt.Sprintf("%s %s", intent.Action, calls[0].ToolName)
	}
	return string(intent.Action)
}

// span is a part of a text that looks like a JSON object, or a list.
type span struct {
	start, end int
	// after is the end of the span before it.
	after int
	// alone: nothing but marks and punctuation stands beside it in its lines. joined: nothing
	// else stands between it and the span before it.
	alone, joined bool
}

// beside matches what may stand between two parts of one answer: marks, fences and
// punctuation.
var beside = pattern.Lazy("(?i)^(?:[\\s,;\\]\\[]|`{3,}[\\w.-]*|[<\\[][^<>\\[\\]\n]*[>\\]]|(?:action(?:[ _]input)?|arguments?|json|tool_calls?)\\s*:?)*$")

// maxBeside bounds what may stand beside a part in its line, in bytes.
const maxBeside = 1 << 10

// spans returns the objects of a text, and its lists if they are wanted. What nothing
// closes is one up to the end of the text if it can be repaired. After maxTries of them, or
// of brackets that nothing closes, it looks for no more.
func spans(text string, lists bool) []span {
	var found []span
	wanted := "{"
	if lists {
		wanted = "{["
	}
	after := 0
	for from, open := 0, 0; from < len(text) && len(found) < maxTries && open < maxTries; {
		start := strings.IndexAny(text[from:], wanted)
		if start < 0 {
			break
		}
		start += from
		if strings.HasPrefix(strings.TrimLeft(text[start+1:], " \t\r\n"), "{") { // braces around an object: \boxed{{…}}
			from = start + 1
			continue
		}
		end := closing(text, start).end
		if end < 0 && open == 0 {
			tail := strings.TrimRight(trailingMarks().ReplaceAllString(text, ""), " \t\r\n")
			if start < len(tail) {
				if _, _, ok := repaired(tail[start:]); ok {
					end = len(tail)
				}
			}
		}
		if end < 0 || text[start] == '[' && !json.Valid([]byte(text[start:end])) {
			from, open = start+1, open+1
			continue
		}
		found = append(found, span{start: start, end: end, after: after})
		from, after = end, end
	}
	for i := range found {
		next := len(text)
		if i+1 < len(found) {
			next = found[i+1].start
		}
		before, behind := text[found[i].after:found[i].start], text[found[i].end:next]
		found[i].joined = i > 0 && beside().MatchString(before)
		line := before[strings.LastIndexByte(before, '\n')+1:]
		rest, _, _ := strings.Cut(behind, "\n")
		found[i].alone = max(len(line), len(rest)) <= maxBeside && beside().MatchString(line) && beside().MatchString(rest)
	}
	return found
}

var trailingMarks = pattern.Lazy("(?:\\s*(?:`{3,}|[<\\[][|｜]?/[^<>\\[\\]\n]*[>\\]]))+\\s*$")

// inside reports whether a place of a text is within one of some spans.
func inside(spans []span, at int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return s.start < at && at < s.end })
}

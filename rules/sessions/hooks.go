package sessions

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/rules"
	"savant/schemas"
	"savant/think/gate"
)

// OfHooks is the Options.Process of the processes that clients start as hooks: together
// they see the calls of one session.
const OfHooks = "hooks"

// Ask decides on the event of a client's hook: a call of one of the client's own tools,
// before or after it is made. Where it cannot decide, the call does not pass.
func (k *Keeper) Ask(ctx context.Context, e gate.Event) gate.Decision {
	set, runs, err := k.holding(ctx, engines.Call{})
	tool, ours := ToolOf(set, e.Tool)
	switch {
	case err != nil && e.Kind == gate.BeforeTool:
		return refusal(err)
	case err != nil || e.Kind == gate.Other || len(set.Files()) == 0:
		return gate.Decision{}
	case e.Kind == gate.TurnEnd:
		_ = k.ended(ctx, e) // it is noted an hour later
		return gate.Decision{}
	case !set.Reads(tool):
		return gate.Decision{}
	}
	call := rules.Call{Tool: tool, Session: hookSession(e), Time: k.options.Now().UnixMilli(), Witness: "hook", Runs: runs}
	if call.Input, err = argumentsOf(e); err != nil && e.Kind == gate.BeforeTool && !ours {
		return refusal(err)
	}
	switch e.Kind {
	case gate.AfterTool:
		_ = k.after(ctx, call, e) // not noted: its outcome is unknown
	case gate.BeforeTool:
		if ours { // the server judges it, in its own session
			return gate.Decision{}
		}
		verdict, reserved, err := k.reserve(ctx, engines.Call{}, call)
		if err == nil && reserved == nil { // a hook cannot wait for a person
			err = k.approve(ctx, engines.Call{}, verdict)
		}
		if err != nil {
			return refusal(err)
		}
	}
	return gate.Decision{}
}

// argumentsOf returns the arguments of a client's call, none where it has none.
func argumentsOf(e gate.Event) (map[string]any, error) {
	value, err := any(nil), error(nil)
	if len(e.Input) > 0 {
		value, err = jsonvalue.DecodeStored(e.Input)
	}
	switch input, is := rules.Plain(value).(map[string]any); {
	case is:
		return input, nil
	case err == nil && value != nil:
		err = errors.New("expected an object, found " + jsonvalue.Kind(value))
	}
	if err != nil {
		err = fault.New(fault.RuleRefused, "%s was not called: rules are about it, and its arguments cannot be read: %w", e.Tool, err)
	}
	return map[string]any{}, err
}

// ruled is the cause of a refusal by a rule.
const ruled = "rule"

func refusal(err error) gate.Decision {
	failure := fault.From(err)
	reason := failure.Message()
	if failure.Code != fault.RuleRefused {
		reason = string(failure.Code) + ": " + reason
	}
	return gate.Decision{Verdict: gate.Refuse, Reason: reason, Why: ruled}
}

func hookSession(e gate.Event) string { return "hook " + e.Client + " " + e.Session }

// spelling returns a tool's name, or a pattern, without what clients write differently.
func spelling(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '*' })
	if len(words) > 1 && (words[0] == "mcp" || words[0] == "MCP") {
		words = words[1:]
	}
	return strings.Join(words, "_")
}

// ToolOf returns the name by which rules know a client's tool: SERVER.TOOL of another MCP
// server, however the client writes it. Where several are meant, it is one that rules are
// about. ours: it is one that a server of Savant publishes.
func ToolOf(set *rules.Set, name string) (tool string, ours bool) {
	meant, names := "", set.Spelled()
	for _, known := range names {
		for _, spelt := range []string{known, engines.Underscored(known)} {
			if server, is := strings.CutSuffix(name, spelt); is && strings.Contains(server, "savant") {
				return known, true
			}
		}
	}
	if slices.Contains(names, name) {
		return name, false
	}
	for _, known := range names {
		tool := spelt(known, name)
		if tool != "" && set.Reads(tool) {
			return tool, false
		}
		meant = cmp.Or(meant, tool)
	}
	if rest, is := strings.CutPrefix(name, "mcp__"); is {
		name = strings.Replace(rest, "__", ".", 1)
	}
	return cmp.Or(meant, name), false
}

// spelt returns a client's tool as a name or pattern of a server's tools spells it, "" if it is
// another one: a star takes what the client has there.
func spelt(known, name string) string {
	server, of, dotted := strings.Cut(known, ".")
	if !dotted || strings.Trim(known, "*.") == "" {
		return ""
	}
	form, begins := spelling(known), "^"
	if strings.HasPrefix(name, "mcp__plugin_") {
		begins = "^(?:.*_)?"
	}
	if strings.HasPrefix(name, "MCP:") { // the client does not say the server
		if strings.Trim(of, "*") == "" {
			return ""
		}
		form, known = spelling(of), strings.ReplaceAll(server, "*", "")+"."+of
	}
	read, err := regexp.Compile(begins + strings.ReplaceAll(regexp.QuoteMeta(form), `\*`, "(.*)") + "$")
	if err != nil {
		return ""
	}
	found := read.FindStringSubmatch(spelling(name))
	if found == nil {
		return ""
	}
	for _, text := range found[1:] {
		known = strings.Replace(known, "*", text, 1)
	}
	return known
}

// after notes how a call of the client ended.
func (k *Keeper) after(ctx context.Context, call rules.Call, e gate.Event) error {
	return k.locked(ctx, call, func() error {
		name := k.waiting(call)
		if name == "" { // no hook saw it begin
			name = newName()
			if err := k.write(k.begun(name, call)); err != nil {
				return err
			}
		}
		result, outcome := Reported(e)
		added := k.end(call.Session, name, outcome)
		if outcome == rules.Succeeded && len(e.Output) <= maxResult {
			added.Result = result
		}
		return k.write(added)
	})
}

// waiting returns the journal's name of the first equal call that is not settled.
func (k *Keeper) waiting(call rules.Call) string {
	found := ""
	for name, each := range k.open {
		if each.made.Session == call.Session && each.made.Same(call) && (found == "" || each.made.At < k.open[found].made.At) {
			found = name
		}
	}
	return found
}

// ended notes at the end of a model's turn that nobody knows how the calls ended that no
// hook reported: a person may have declined them.
func (k *Keeper) ended(ctx context.Context, e gate.Event) error {
	return k.locked(ctx, rules.Call{Session: hookSession(e)}, func() error {
		return k.lose(func(each *running) bool { return each.made.Session == hookSession(e) })
	})
}

// Reported returns the bare result of a call as its client tells it, and how the call
// ended.
func Reported(e gate.Event) (result any, outcome rules.Outcome) {
	if outcome = rules.Outcome(e.Outcome()); outcome != rules.Succeeded {
		return nil, outcome
	}
	value, err := jsonvalue.DecodeStored(e.Output)
	if err != nil {
		return nil, rules.Succeeded
	}
	return schemas.WithoutReceipt(unwrapped(value, 4)), rules.Succeeded
}

// wrappers are members under which clients put a result; without another member, they
// are the result.
var wrappers = []string{"llmContent", "output", "content"}

// unwrapped takes from a result what its client put around it, at most some layers.
func unwrapped(value any, layers int) any {
	switch found := value.(type) {
	case string:
		inner, is := strings.CutPrefix(strings.TrimSpace(found), "<untrusted_context>")
		if inner, closed := strings.CutSuffix(inner, "</untrusted_context>"); is && closed {
			found = strings.TrimSpace(inner)
		}
		return ofText(found)
	case []any:
		if text := schemas.ContentText(found); text != "" || len(found) > 0 && schemas.IsToolResult(map[string]any{"content": found}) {
			return unwrapped(text, layers)
		}
	case map[string]any:
		if found["structuredContent"] != nil {
			return found["structuredContent"]
		}
		for _, name := range wrappers {
			_, shown := found["returnDisplay"]
			if inner, is := found[name]; is && layers > 0 && (len(found) == 1 || shown && len(found) == 2) {
				return unwrapped(inner, layers-1)
			}
		}
	}
	return value
}

package sessions

import (
	"context"
	"encoding/json"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/rules"
	"savant/think/gate"
)

// OfHooks is the Options.Process of the processes that clients start as hooks: together
// they see the calls of one session.
const OfHooks = "hooks"

// Ask decides on the event of a client's hook: a call of one of the client's own tools,
// before or after it is made. Where it cannot decide, the call does not pass.
func (k *Keeper) Ask(ctx context.Context, e gate.Event) gate.Decision {
	set, err := k.Set()
	tool, ours := toolOf(set, e.Tool)
	switch {
	case e.Session == "":
		return gate.Decision{}
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
	call := rules.Call{Tool: tool, Input: map[string]any{}, Session: hookSession(e), Time: k.options.Now().UnixMilli(), Witness: "hook"}
	if value, err := jsonvalue.DecodeStored(e.Input); err == nil {
		if input, is := value.(map[string]any); is {
			call.Input = input
		}
	}
	switch e.Kind {
	case gate.AfterTool:
		_ = k.after(ctx, call, e.Output) // not noted: its outcome is unknown
	case gate.BeforeTool:
		if ours { // the server judges it, in its own session
			return gate.Decision{}
		}
		verdict, _, err := k.reserve(ctx, call, nil)
		if err != nil {
			return refusal(err)
		}
		if verdict.Decision == rules.Ask {
			return refusal(fault.New(fault.ApprovalRequired, "%s was not called: a rule asks a person: %s", tool, strings.Join(verdict.Questions(), "\n")))
		}
	}
	return gate.Decision{}
}

// ruled is the cause of a refusal by a rule.
const ruled = "rule"

func refusal(err error) gate.Decision {
	return gate.Decision{Verdict: gate.Refuse, Reason: fault.From(err).Message(), Why: ruled}
}

func hookSession(e gate.Event) string { return "hook " + e.Client + " " + e.Session }

// toolOf returns the name by which rules know a client's tool: SERVER.TOOL of another MCP
// server. ours: it is one that a server of Savant publishes.
func toolOf(set *rules.Set, name string) (tool string, ours bool) {
	for _, known := range set.Names() {
		for _, spelt := range []string{known, engines.Underscored(known)} {
			if server, is := strings.CutSuffix(name, spelt); is && strings.Contains(server, "savant") {
				return known, true
			}
		}
	}
	if rest, is := strings.CutPrefix(name, "mcp__"); is {
		return strings.Replace(rest, "__", ".", 1), false
	}
	return name, false
}

// after notes how a call of the client ended.
func (k *Keeper) after(ctx context.Context, call rules.Call, output json.RawMessage) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.locked(ctx, call.Session, func() error {
		name := k.waiting(call)
		if name == "" { // no hook saw it begin
			name = newName()
			if err := k.write(k.begun(name, call)); err != nil {
				return err
			}
		}
		result, failed := reported(output)
		added := k.end(call.Session, name, rules.OutcomeOf(!failed))
		if !failed && len(output) <= maxResult {
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
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.locked(ctx, hookSession(e), func() error {
		for name, each := range k.open {
			if each.made.Session == hookSession(e) && !each.lost {
				if err := k.write(k.end(each.made.Session, name, rules.Unknown)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// reported returns the result of a call as its client tells it.
func reported(output json.RawMessage) (result any, failed bool) {
	value, err := jsonvalue.DecodeStored(output)
	if err != nil {
		return nil, false
	}
	object, _ := value.(map[string]any)
	for _, mark := range []string{"isError", "is_error"} {
		if object[mark] == true {
			return nil, true
		}
	}
	if text, is := value.(string); is {
		return jsonvalue.TextOrValue(text), false
	}
	return value, false
}

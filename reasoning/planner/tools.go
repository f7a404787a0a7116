package planner

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/reasoning"
)

// toolkit has the offered tools that the planner can use: Savant's own, whose results it
// knows.
type toolkit struct {
	search, read, log *usable // nil if missing
	// others are calls of tools named in the goal that need no arguments.
	others []reasoning.Call
}

// usable is a tool with the arguments that it takes.
type usable struct {
	name  string
	takes map[string]json.RawMessage
}

// inputSchema is the part of an input schema that the planner reads.
type inputSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func chooseTools(request reasoning.Request) toolkit {
	kit := toolkit{others: otherCalls(request)}
	for _, tool := range request.Tools {
		var schema inputSchema
		_ = json.Unmarshal(tool.InputSchema, &schema) // else it takes nothing
		found := &usable{tool.Name, schema.Properties}
		switch tool.Name {
		case "context.search":
			kit.search = found
		case "context.read":
			kit.read = found
		case "git.log":
			kit.log = found
		}
	}
	return kit
}

// call returns a call with those of the arguments that the tool takes.
func (u *usable) call(args map[string]any) reasoning.Call {
	maps.DeleteFunc(args, func(name string, _ any) bool { return u.takes[name] == nil })
	raw, err := jsonvalue.Encode(args)
	if err != nil {
		panic("planner: arguments of text and numbers do not encode: " + err.Error())
	}
	return reasoning.Call{ToolName: u.name, Args: raw}
}

// is reports whether an outcome comes from this tool.
func (u *usable) is(outcome reasoning.Outcome) bool { return u != nil && outcome.ToolName == u.name }

// argument decodes an argument of an earlier call.
func (u *usable) argument(outcome reasoning.Outcome, name string, into any) error {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(outcome.Args, &args); err != nil {
		return err
	}
	return json.Unmarshal(args[name], into)
}

// otherCalls returns calls of read-only tools without required arguments whose short
// name is a word of the goal: "status" for git.status. It excludes tools that take a
// query, even an optional one.
func otherCalls(request reasoning.Request) []reasoning.Call {
	var goal []string
	for field := range strings.FieldsSeq(strings.ToLower(request.Goal)) {
		goal = append(goal, strings.Trim(field, ".,;:?!\"'()`"))
	}
	var calls []reasoning.Call
	for _, tool := range request.Tools {
		var schema inputSchema
		engine, own, _ := strings.Cut(tool.Name, ".")
		if !tool.ReadOnly || engine == "agent" || engine == "think" || json.Unmarshal(tool.InputSchema, &schema) != nil ||
			len(schema.Required) > 0 || schema.Properties["query"] != nil {
			continue
		}
		if slices.Contains(goal, own) && !isStop(own) || slices.Contains(goal, tool.Name) {
			calls = append(calls, reasoning.Call{ToolName: tool.Name, Args: json.RawMessage("{}")})
		}
	}
	return calls[:min(len(calls), maxOther)]
}

package planner

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/reasoning"
)

// toolkit has the offered tools that the planner can use.
type toolkit struct {
	search, read, log *usable // nil if missing
	// others are calls of tools named in the goal that need no arguments.
	others []reasoning.Call
}

// usable is a tool with its names of the planner's arguments; "" marks an unsupported
// one.
type usable struct {
	name      string
	arguments []string
}

// Known names of the planner's arguments. Search: query, limit, globs, limit for each file,
// count of files with each word. Read: path, first and last line. Log:
// limit, since a date, after a commit, paths, with files.
var (
	searchArguments = [][]string{{"query", "q", "text", "pattern"}, {"limit", "max_results", "top_k"}, {"paths", "globs"}, {"per_file"}, {"counts"}}
	readArguments   = [][]string{{"path", "file"}, {"start_line", "start", "from_line"}, {"end_line", "end", "to_line"}}
	logArguments    = [][]string{{"limit", "max_count"}, {"since"}, {"from"}, {"paths"}, {"files"}, {"authors"}}
)

// searchPaths is the index of the globs among the arguments of a search.
const searchPaths = 2

// inputSchema is the part of an input schema that the planner reads.
type inputSchema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// chooseTools selects a tool that searches text, one that reads lines and one that
// lists commits, by name and description. It prefers Savant's own.
func chooseTools(request reasoning.Request) toolkit {
	var kit toolkit
	for _, tool := range request.Tools {
		var schema inputSchema
		if len(tool.InputSchema) > 0 && json.Unmarshal(tool.InputSchema, &schema) != nil {
			continue
		}
		about := strings.ToLower(tool.Name + " " + tool.Title + " " + tool.Description)
		searches := strings.Contains(about, "search") && !strings.Contains(about, "the web")
		reads := strings.Contains(about, "read") || strings.Contains(about, "lines of")
		if found := schema.usable(tool.Name, searchArguments, 1); searches && found != nil && (kit.search == nil || tool.Name == "context.search") {
			kit.search = found
		}
		if found := schema.usable(tool.Name, readArguments, 2); reads && found != nil && (kit.read == nil || tool.Name == "context.read") {
			kit.read = found
		}
		own := tool.Name[strings.LastIndex(tool.Name, ".")+1:]
		if found := schema.usable(tool.Name, logArguments, 1); strings.HasSuffix(own, "log") && found != nil && (kit.log == nil || tool.Name == "git.log") {
			kit.log = found
		}
	}
	kit.others = otherCalls(request)
	return kit
}

// usable matches a tool with the planner's arguments: nil if it lacks one of the first
// `needed`, or requires others.
func (s inputSchema) usable(tool string, arguments [][]string, needed int) *usable {
	found := &usable{name: tool}
	for i, names := range arguments {
		name := s.property(names...)
		if name == "" && i < needed {
			return nil
		}
		found.arguments = append(found.arguments, name)
	}
	if slices.ContainsFunc(s.Required, func(name string) bool { return !slices.Contains(found.arguments, name) }) {
		return nil
	}
	return found
}

// property returns the first of the names that a schema has, or "".
func (s inputSchema) property(names ...string) string {
	for _, name := range names {
		if _, has := s.Properties[name]; has {
			return name
		}
	}
	return ""
}

// takes reports whether the tool supports an argument.
func (u *usable) takes(number int) bool { return u.arguments[number] != "" }

// call returns a call with the values of the arguments; nil values are omitted.
func (u *usable) call(values ...any) reasoning.Call {
	args := map[string]any{}
	for i, value := range values {
		if name := u.arguments[i]; name != "" && value != nil {
			args[name] = value
		}
	}
	raw, err := jsonvalue.Encode(args)
	if err != nil {
		panic("planner: arguments of text and numbers do not encode: " + err.Error())
	}
	return reasoning.Call{ToolName: u.name, Args: raw}
}

// is reports whether an outcome comes from this tool.
func (u *usable) is(outcome reasoning.Outcome) bool { return u != nil && outcome.ToolName == u.name }

// argument decodes an argument of an earlier call.
func (u *usable) argument(outcome reasoning.Outcome, number int, into any) error {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(outcome.Args, &args); err != nil {
		return err
	}
	return json.Unmarshal(args[u.arguments[number]], into)
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
			len(schema.Required) > 0 || schema.property("query", "q") != "" {
			continue
		}
		if slices.Contains(goal, own) && !isStop(own) || slices.Contains(goal, tool.Name) {
			calls = append(calls, reasoning.Call{ToolName: tool.Name, Args: json.RawMessage("{}")})
		}
	}
	return calls[:min(len(calls), maxOther)]
}

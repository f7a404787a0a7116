package models

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/reasoning"
)

// toolkit is what of the offered tools the planner can use, found by name and
// description.
type toolkit struct {
	search, read *usable
	// others are calls of tools that the goal names and that need nothing said.
	others []reasoning.Call
}

// usable is a tool with the names of the arguments that the planner fills.
type usable struct {
	name                    string
	query, limit            string
	path, startLine, stopAt string
}

// shape is what the planner reads of an input schema.
type shape struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func chooseTools(request reasoning.Request) toolkit {
	var kit toolkit
	for _, tool := range request.Tools {
		var in shape
		if len(tool.InputSchema) > 0 && json.Unmarshal(tool.InputSchema, &in) != nil {
			continue
		}
		about := strings.ToLower(tool.Name + " " + tool.Title + " " + tool.Description)
		if kit.search == nil || tool.Name == "context.search" {
			kit.search = firstOf(searchTool(tool.Name, about, in), kit.search)
		}
		if kit.read == nil || tool.Name == "context.read" {
			kit.read = firstOf(readTool(tool.Name, about, in), kit.read)
		}
	}
	kit.others = otherCalls(request)
	return kit
}

func firstOf(a, b *usable) *usable {
	if a != nil {
		return a
	}
	return b
}

// property returns the first of the names that a schema has.
func (s shape) property(names ...string) string {
	for _, name := range names {
		if _, has := s.Properties[name]; has {
			return name
		}
	}
	return ""
}

// covered says whether all that is required is among the names.
func (s shape) covered(names ...string) bool {
	return !slices.ContainsFunc(s.Required, func(name string) bool { return !slices.Contains(names, name) })
}

// searchTool takes a tool that searches text and wants no more than a query.
func searchTool(name, about string, in shape) *usable {
	found := usable{name: name, query: in.property("query", "q", "text", "pattern"), limit: in.property("limit", "max_results", "top_k")}
	searches := strings.Contains(about, "search") && !strings.Contains(about, "the web")
	if !searches || found.query == "" || !in.covered(found.query, found.limit) {
		return nil
	}
	return &found
}

// readTool takes a tool that reads a range of lines of a file.
func readTool(name, about string, in shape) *usable {
	found := usable{name: name, path: in.property("path", "file"), startLine: in.property("start_line", "start", "from_line"),
		stopAt: in.property("end_line", "end", "to_line")}
	reads := strings.Contains(about, "read") || strings.Contains(about, "lines of")
	if !reads || found.path == "" || found.startLine == "" || !in.covered(found.path, found.startLine, found.stopAt) {
		return nil
	}
	return &found
}

// otherCalls are of tools that change nothing, need no arguments, and whose
// own name the goal holds as a word: "status" for git.status. A tool that takes
// a query has nothing to say without one, whatever its schema requires.
func otherCalls(request reasoning.Request) []reasoning.Call {
	goal := wordsIn(request.Goal)
	var calls []reasoning.Call
	for _, tool := range request.Tools {
		var in shape
		engine, own, _ := strings.Cut(tool.Name, ".")
		if !tool.ReadOnly || engine == "agent" || engine == "think" || json.Unmarshal(tool.InputSchema, &in) != nil || len(in.Required) > 0 || in.property("query", "q") != "" {
			continue
		}
		if slices.Contains(goal, own) && !slices.Contains(known().Stop, own) || slices.Contains(goal, tool.Name) {
			calls = append(calls, reasoning.Call{ToolName: tool.Name, Args: json.RawMessage("{}")})
		}
	}
	return calls[:min(len(calls), maxOther)]
}

// wordsIn returns the words of a text in lower case.
func wordsIn(text string) []string {
	var all []string
	for field := range strings.FieldsSeq(strings.ToLower(text)) {
		all = append(all, strings.Trim(field, ".,;:?!\"'()`"))
	}
	return all
}

func (k toolkit) searchFor(query string) reasoning.Call {
	args := map[string]any{k.search.query: query}
	if k.search.limit != "" {
		args[k.search.limit] = searchLimit
	}
	return call(k.search.name, args)
}

func (k toolkit) readFrom(at place) reasoning.Call {
	first := max(1, at.line-linesBefore)
	args := map[string]any{k.read.path: at.path, k.read.startLine: first}
	if k.read.stopAt != "" {
		args[k.read.stopAt] = first + readLines - 1
	}
	return call(k.read.name, args)
}

// call writes arguments with their names in order, so that equal calls are
// equal bytes.
func call(tool string, args map[string]any) reasoning.Call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic("models: arguments of text and numbers do not marshal: " + err.Error())
	}
	return reasoning.Call{ToolName: tool, Args: raw}
}

package gate

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
)

// client lists the built-in tools of a client.
type client struct {
	// search are its tools that search for tools: without them a model may not find
	// the issued one.
	search []string
	// reads are tools that read or find files, manage the model's to-do list, or ask the
	// person.
	reads []string
}

// clients are the rows of the clients' own tools. What is not in them counts as a tool
// that changes something.
var clients = map[string]client{
	"claude-code": {search: []string{"ToolSearch"}, reads: []string{"Read", "Grep", "Glob", "LS", "NotebookRead", "LSP", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "AskUserQuestion"}},
	"codex":       {search: []string{"tool_search", "tool_search_tool"}, reads: []string{"read_file", "list_dir", "grep_files", "view_image", "update_plan", "request_user_input"}},
	"gemini-cli":  {reads: []string{"read_file", "read_many_files", "list_directory", "glob", "search_file_content", "grep_search", "write_todos", "ask_user"}},
	"qwen-code":   {search: []string{"tool_search"}, reads: []string{"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content", "todo_write", "ask_user_question", "lsp"}},
	"opencode":    {reads: []string{"read", "grep", "glob", "list", "lsp", "todowrite", "todoread", "question"}},
	"cline":       {reads: []string{"read_files", "read_file", "list_files", "search_files", "search_codebase", "list_code_definition_names", "ask_question", "ask_followup_question"}},
	"cursor":      {reads: []string{"Read", "Grep", "Glob", "LS", "SemanticSearch", "ReadLints", "TodoWrite", "AskQuestion"}},
	"vscode": {search: []string{"tool_search", "tool_search_tool_regex"}, reads: []string{"read_file", "readFile", "list_dir", "listDirectory", "file_search", "fileSearch", "grep_search", "textSearch",
		"semantic_search", "codebase", "get_errors", "problems", "manage_todo_list", "todos", "Read", "Grep", "Glob", "LS"}},
	"copilot-cli": {reads: []string{"view", "grep", "glob", "update_todo", "ask_user"}},
	"windsurf":    {reads: []string{"read_code"}},
	"kiro":        {search: []string{"tool_search"}, reads: []string{"fs_read", "read", "grep", "glob", "code", "todo_list"}},
}

// searches reports whether an event is the client's own search for tools.
func searches(e Event) bool { return slices.Contains(clients[e.Client].search, e.Tool) }

// reads reports whether an event only reads within the project.
func (o Own) reads(e Event) bool {
	if _, ours := o.Name(e.Tool); ours {
		return o.readOnly(e.Tool)
	}
	if !slices.Contains(clients[e.Client].reads, e.Tool) {
		return false
	}
	return len(Places(e)) == 0 || e.Project != "" && len(e.Paths) == len(Places(e)) &&
		!slices.ContainsFunc(e.Paths, func(place string) bool { return !within(e.Project, place) })
}

func within(folder, place string) bool {
	relative, err := filepath.Rel(folder, place)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// notPlaces are arguments of reading tools that are never paths, whatever they look
// like. A pattern is a path only for a tool that finds files by name.
var notPlaces = []string{"query", "regex", "content", "description", "task", "todos", "questions", "question", "task_progress"}

// Places returns the texts of the arguments of a client's own reading tool that may be
// paths; any other text is within the project when it is taken for a relative one.
func Places(e Event) []string {
	if !slices.Contains(clients[e.Client].reads, e.Tool) {
		return nil
	}
	var found []string
	for name, value := range jsonvalue.Members(e.Input) {
		if slices.Contains(notPlaces, name) || name == "pattern" && strings.Contains(strings.ToLower(e.Tool), "grep") ||
			name == "pattern" && strings.Contains(e.Tool, "search_file_content") {
			continue
		}
		found = append(found, textsOf(value)...)
	}
	return found
}

// nowhere is a place that is in no project.
const nowhere = "/"

// textsOf returns all texts within a value. An address of a file is its path; any other
// address is nowhere.
func textsOf(value json.RawMessage) []string {
	decoded, err := jsonvalue.DecodeStored(value)
	if err != nil {
		return []string{nowhere}
	}
	var found []string
	var walk func(any)
	walk = func(value any) {
		switch value := value.(type) {
		case string:
			found = append(found, pathOf(value))
		case []any:
			for _, each := range value {
				walk(each)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				walk(value[name])
			}
		}
	}
	walk(decoded)
	return found
}

// pathOf returns the path that a text names. A client may read what is encoded in an
// address otherwise than Savant does, so such a path is nowhere.
func pathOf(text string) string {
	scheme, path, isAddress := strings.Cut(text, "://")
	switch {
	case !isAddress || strings.ContainsFunc(scheme, func(c rune) bool { return !isSchemes(c) }):
		return text
	case scheme == "file" && strings.HasPrefix(path, "/") && !strings.ContainsAny(path, "%?#"):
		return path
	}
	return nowhere
}

// isSchemes reports whether a letter may be in the scheme of an address.
func isSchemes(c rune) bool {
	return c < 0x80 && alphanumeric(byte(c)) || strings.ContainsRune("+-.", c)
}

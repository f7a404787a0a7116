package mcpio

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
)

// tools returns the current list of tools for a client, in the one spelling that it can use.
// apps: with the tools of pages. A tool that cannot be published is omitted and logged.
func (s *Server) tools(client Peer, apps bool) []mcp.Tool {
	s.options.BeforeList()
	dotted := isDotted(client.Name)
	list := []mcp.Tool{}
	tools := s.options.Registry.Tools()
	if apps {
		tools = append(slices.Clone(tools), s.options.Apps.Tools().Tools()...)
	}
	note := s.options.Registry.ToolNotes()
	for _, tool := range tools {
		entry, err := publishTool(tool)
		if err != nil {
			s.logger.Warn("a tool is not listed", "tool", tool.Name, "error", err)
			continue
		}
		if said := note(tool.Name); said != "" {
			entry.Description += "\n" + said
		}
		entry.Description = s.spell(client.Name, entry.Description)
		if client.takesIcons() {
			entry.Icons = s.icons(engines.EngineOf(tool.Name))
		}
		if !client.takesTitles() {
			entry.Title, entry.Annotations.Title = "", entry.Title
		}
		if !dotted {
			entry.Name = engines.Underscored(entry.Name)
		}
		list = append(list, entry)
	}
	return list
}

// annotate returns the hints of a tool. What could do harm is said explicitly, since clients
// disagree about the defaults; the rest has no meaning where the tool only reads.
func annotate(tool engines.Tool) (hints mcp.ToolAnnotation) {
	hints.ReadOnlyHint, hints.OpenWorldHint = &tool.ReadOnly, &tool.OpenWorld
	if tool.ReadOnly {
		return hints
	}
	hints.DestructiveHint = &tool.Destructive
	if tool.Idempotent {
		hints.IdempotentHint = &tool.Idempotent
	}
	return hints
}

// publishTool returns a tool as tools/list shows it, under its canonical name. Its error is
// that of Publishable, which alone measures the whole.
func publishTool(tool engines.Tool) (mcp.Tool, error) {
	entry := mcp.Tool{
		Name:        tool.Name,
		Title:       visible.Line(tool.Title),
		Description: visible.Characters(tool.Description),
		Annotations: annotate(tool),
	}
	if tool.Eager {
		entry.Meta = &mcp.Meta{AdditionalFields: map[string]any{engines.MetaAlwaysLoad: true}}
	}
	switch {
	case tool.ForPages:
		entry.Meta = &mcp.Meta{AdditionalFields: map[string]any{"ui": map[string]any{"visibility": []string{"app"}}}}
	case tool.Page != "":
		entry.Meta = &mcp.Meta{AdditionalFields: map[string]any{"ui": map[string]any{"resourceUri": tool.Page, "visibility": []string{"model", "app"}}}}
	}
	input, whole := visibleSchema(tool.ListedInput())
	output, wholeOutput := visibleSchema(tool.PublishedOutput().Published)
	if !whole || !wholeOutput {
		return entry, unpublishable(tool.Name, "has invisible characters in a name or value of a schema")
	}
	entry.RawInputSchema, entry.RawOutputSchema = input, output
	return entry, checkTool(tool)
}

// visibleSchema is visible.Schema for encoded JSON. A schema without invisible
// characters, as most are, stays byte for byte.
func visibleSchema(raw json.RawMessage) (shown json.RawMessage, whole bool) {
	if !bytes.ContainsFunc(raw, func(r rune) bool { return r >= 0x7f }) && !bytes.Contains(raw, []byte(`\`)) {
		return raw, true
	}
	value, err := jsonvalue.Decode(raw)
	if err != nil {
		return raw, true // the tool's check reports it
	}
	clean, whole := visible.Schema(value)
	if reflect.DeepEqual(clean, value) {
		return raw, whole
	}
	encoded, err := jsonvalue.Encode(clean)
	return encoded, whole && err == nil
}

package mcpio

import (
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
)

// dottedClients are the clients, by the name they send, that are shown dotted
// names when the style is auto, each with the reason. A client that hands tool
// names to a model's API must not be here: those allow [A-Za-z0-9_-] only.
var dottedClients = map[string]string{
	"savant": "our own client; names go to a person, never to a model's API",
}

// published is the list of tools, under their canonical names.
type published struct {
	// version is that of the registry.
	version uint64
	tools   []mcp.Tool
}

// publish checks the tools and builds their published forms.
func publish(version uint64, tools []engines.Tool) (published, error) {
	list := published{version: version}
	for _, tool := range tools {
		entry, err := publishTool(tool)
		if err != nil {
			return list, err
		}
		list.tools = append(list.tools, entry)
	}
	return list, nil
}

// tools returns the list for a client, by the name it sends ("" if unknown), as
// the registry is now. A tool that came after New and that clients could not use
// is left out, and the log says so.
func (s *Server) tools(client string) []mcp.Tool {
	s.options.BeforeList()
	s.mu.Lock()
	defer s.mu.Unlock()
	if version := s.options.Registry.Version(); version != s.published.version {
		usable := slices.DeleteFunc(s.options.Registry.Tools(), func(tool engines.Tool) bool {
			_, err := publishTool(tool)
			if err != nil {
				s.logger.Warn("a tool is not listed", "tool", tool.Name, "error", err)
			}
			return err != nil
		})
		if list, err := publish(version, usable); err == nil {
			s.published = list
		}
	}
	return s.spelled(client, s.published.tools)
}

// spelled returns tools with names that the client can use: one spelling, never
// both.
func (s *Server) spelled(client string, tools []mcp.Tool) []mcp.Tool {
	_, dotted := dottedClients[strings.ToLower(client)]
	dotted = s.options.ToolNames == NamesDotted || s.options.ToolNames == NamesAuto && dotted
	list := append([]mcp.Tool{}, tools...)
	for i := range list {
		if !dotted {
			list[i].Name = engines.Underscored(list[i].Name)
		}
	}
	return list
}

// publishTool returns a tool as tools/list shows it, under its canonical name.
// All four hints are set: mcp-go's and the protocol's defaults say destructive.
func publishTool(tool engines.Tool) (mcp.Tool, error) {
	entry := mcp.Tool{
		Name:            tool.Name,
		Title:           tool.Title,
		Description:     tool.Description,
		RawInputSchema:  tool.Input,
		RawOutputSchema: engines.PublishedOutput(tool.Output).Published,
		Annotations: mcp.ToolAnnotation{
			Title:           tool.Title,
			ReadOnlyHint:    &tool.ReadOnly,
			DestructiveHint: &tool.Destructive,
			IdempotentHint:  &tool.Idempotent,
			OpenWorldHint:   &tool.OpenWorld,
		},
	}
	if tool.Eager {
		entry.Meta = &mcp.Meta{AdditionalFields: map[string]any{engines.MetaAlwaysLoad: true}}
	}
	return entry, checkTool(tool, entry)
}

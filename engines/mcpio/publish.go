package mcpio

import (
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
)

// dottedClients are the clients, by the name they send, that are shown dotted
// names when the style is auto, each with the reason. A client that hands tool
// names to a model's API must not be here: those allow [A-Za-z0-9_-] only.
var dottedClients = map[string]string{
	"savant": "our own client; names go to a person, never to a model's API",
}

// published is the list of tools in both spellings; never both in one list.
type published struct {
	// version is that of the registry.
	version             uint64
	style               string
	underscored, dotted []mcp.Tool
}

// publish checks the tools and builds their published forms.
func publish(version uint64, tools []engines.Tool, style string) (published, error) {
	list := published{version: version, style: style}
	switch style {
	case NamesAuto, NamesUnderscore, NamesDotted:
	default:
		return list, fault.New(fault.InvalidParams, "tool names are %q, %q or %q, not %q",
			NamesAuto, NamesUnderscore, NamesDotted, style)
	}
	for _, tool := range tools {
		entry, err := publishTool(tool)
		if err != nil {
			return list, err
		}
		list.dotted = append(list.dotted, entry)
		entry.Name = engines.Underscored(tool.Name)
		list.underscored = append(list.underscored, entry)
	}
	return list, nil
}

// tools returns the list for a client as the registry is now. A tool that came
// after New and that clients could not use is left out, with a word in the log.
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
		if list, err := publish(version, usable, s.published.style); err == nil {
			s.published = list
		}
	}
	return s.published.forClient(client)
}

// forClient returns the list for a client by the name it goes by; empty is a
// client nothing is known of.
func (p published) forClient(name string) []mcp.Tool {
	dotted := p.style == NamesDotted
	if p.style == NamesAuto {
		_, dotted = dottedClients[strings.ToLower(name)]
	}
	if dotted {
		return append([]mcp.Tool{}, p.dotted...)
	}
	return append([]mcp.Tool{}, p.underscored...)
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

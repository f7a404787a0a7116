package mcpio

import (
	"encoding/json"
	"strings"

	"savant/engines"
	"savant/fault"
)

// Limits of a published tool beyond engines.Tool.Check, which the registry has applied.
// Clients prefix names ("mcp__savant__") before they pass them to APIs that allow 64
// characters; Claude Code truncates descriptions at 2 KB; a tool of more than 16 KB
// would fill a small model's context window.
const (
	maxToolName        = 48
	maxToolDescription = 2000
	maxToolBytes       = 16 << 10
)

// Publishable returns why a tool cannot be in the registry or in a published list. The
// code is VALIDATION_FAILED, or that of engines.Tool.Check.
func Publishable(tool engines.Tool) error {
	if err := tool.Check(); err != nil {
		return err
	}
	entry, err := publishTool(tool)
	if err != nil {
		return err
	}
	data, err := json.Marshal(entry)
	if err != nil {
		return unpublishable(tool.Name, "does not marshal: %w", err)
	}
	if len(data) > maxToolBytes {
		return unpublishable(tool.Name, "takes %d bytes in the list, more than %d", len(data), maxToolBytes)
	}
	return nil
}

// checkTool refuses a tool that a client cannot read: one bad tool can make a client
// drop the whole list.
func checkTool(tool engines.Tool) error {
	switch {
	case len(tool.Name) > maxToolName:
		return unpublishable(tool.Name, "has a name of more than %d bytes", maxToolName)
	case strings.TrimSpace(tool.Title) == "":
		return unpublishable(tool.Name, "has no title")
	case len(tool.Description) > maxToolDescription:
		return unpublishable(tool.Name, "has a description of more than %d bytes", maxToolDescription)
	}
	return nil
}

// unpublishable returns Publishable's error for a tool.
func unpublishable(tool, format string, args ...any) error {
	return fault.New(fault.ValidationFailed, "tool "+tool+" "+format, args...)
}

// checkTemplates refuses resource templates that are not valid by RFC 6570.
func checkTemplates(templates []engines.ResourceTemplate) error {
	for _, template := range templates {
		if _, err := publishTemplate(template); err != nil {
			return fault.New(fault.ValidationFailed, "resource template %s: %w", template.URITemplate, err)
		}
	}
	return nil
}

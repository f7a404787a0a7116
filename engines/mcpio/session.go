package mcpio

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// session is what is known about a client during one request. It starts as a copy of
// what initialize said; a 2026-07-28 request overwrites its copy from its own _meta,
// which must not leak into the next request.
type session struct {
	client       mcp.Implementation
	capabilities mcp.ClientCapabilities
	version      string
	// modern: the request uses revision 2026-07-28 or later, see readEra.
	modern bool
}

// canElicit reports whether the client can show a form to its user. An empty capability
// means forms; one that names only url does not.
func (s *session) canElicit() bool {
	elicitation := s.capabilities.Elicitation
	return elicitation != nil && (elicitation.Form != nil || elicitation.URL == nil)
}

// canOpen reports whether the client can ask its user to open a page.
func (s *session) canOpen() bool {
	return s.capabilities.Elicitation != nil && s.capabilities.Elicitation.URL != nil
}

// takesLinks reports whether results may name resources, which revision 2025-06-18 brought.
func (s *session) takesLinks() bool { return s.modern || s.version >= "2025-06-18" }

// MCP Apps (revision 2026-01-26): a tool names a page, which the client shows in the
// conversation and which calls tools through it.
const (
	extensionApps = "io.modelcontextprotocol/ui"
	// MIMETypeApp is the type of such a page.
	MIMETypeApp = "text/html;profile=mcp-app"
)

// showsApps reports whether the client shows pages of tools.
func (s *session) showsApps() bool {
	declared, _ := s.capabilities.Extensions[extensionApps].(map[string]any)
	types, _ := declared["mimeTypes"].([]any)
	return slices.Contains(types, any(MIMETypeApp))
}

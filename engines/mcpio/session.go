package mcpio

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// session is what is known about a client during one request. It starts as a copy of
// what initialize said; a 2026-07-28 request overwrites its copy from its own _meta,
// which must not leak into the next request.
type session struct {
	client       mcp.Implementation
	capabilities mcp.ClientCapabilities
	version      string
	initialized  bool
	// modern: the request uses revision 2026-07-28 or later. It is set for the methods
	// of this package, see readEra.
	modern bool
	// notifications receives the acknowledgement of a subscription, the only message
	// sent through mcp-go.
	notifications chan mcp.JSONRPCNotification
}

// The interfaces that mcp-go requires of a session.
var (
	_ server.SessionWithClientInfo      = (*session)(nil)
	_ server.SessionWithProtocolVersion = (*session)(nil)
)

func (s *session) Initialize()       { s.initialized = true }
func (s *session) Initialized() bool { return s.initialized }
func (s *session) SessionID() string { return "stdio" }

func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }

func (s *session) GetClientInfo() mcp.Implementation       { return s.client }
func (s *session) SetClientInfo(client mcp.Implementation) { s.client = client }

func (s *session) GetClientCapabilities() mcp.ClientCapabilities { return s.capabilities }
func (s *session) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	s.capabilities = capabilities
}

func (s *session) ProtocolVersion() string           { return s.version }
func (s *session) SetProtocolVersion(version string) { s.version = version }

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

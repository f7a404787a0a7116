package mcpio

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// Peer is what is known about a client: what initialize said, or, from revision 2026-07-28
// on, each request. A transport without connections encodes it in the session id.
type Peer struct {
	Name    string `json:"name,omitempty"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version,omitempty"`
	// Protocol is the revision of the request, or the negotiated one; empty before initialize.
	Protocol string `json:"protocol"`
	// Forms says that the client can put a form to its user.
	Forms bool `json:"forms,omitempty"`
	// Pages says that the client can ask its user to open a page.
	Pages bool `json:"pages,omitempty"`
	// Apps says that the client shows the pages of tools, see Options.Apps.
	Apps bool `json:"apps,omitempty"`

	// modern: the request uses revision 2026-07-28 or later, see readEra; tasks: its client
	// takes tasks.
	modern, tasks bool
}

// MCP Apps (revision 2026-01-26): a tool names a page, which the client shows in the
// conversation and which calls tools through it.
const (
	extensionApps = "io.modelcontextprotocol/ui"
	// MIMETypeApp is the type of such a page.
	MIMETypeApp = "text/html;profile=mcp-app"
)

// identify notes what the client calls itself.
func (p *Peer) identify(as mcp.Implementation) {
	p.Name, p.Title, p.Version = as.Name, as.Title, as.Version
}

// declare notes what the client can. An empty capability of elicitation means forms; one
// that names only url does not.
func (p *Peer) declare(has mcp.ClientCapabilities) {
	p.Pages = has.Elicitation != nil && has.Elicitation.URL != nil
	p.Forms = has.Elicitation != nil && (has.Elicitation.Form != nil || !p.Pages)
	shown, _ := has.Extensions[extensionApps].(map[string]any)
	types, _ := shown["mimeTypes"].([]any)
	p.Apps = slices.Contains(types, any(MIMETypeApp))
	_, p.tasks = has.Extensions[tasksExtension].(map[string]any)
}

// takesTitles reports whether the client shows the title of a tool, which revision 2025-06-18
// brought. Others, and Claude Code to this day, show the title of its annotations.
func (p *Peer) takesTitles() bool { return p.Protocol >= "2025-06-18" && p.Name != "claude-code" }

// takesIcons reports whether tools may have icons, which revision 2025-11-25 brought.
func (p *Peer) takesIcons() bool { return p.Protocol >= "2025-11-25" }

// takesLinks reports whether results may name resources, which revision 2025-06-18 brought.
func (p *Peer) takesLinks() bool { return p.Protocol >= "2025-06-18" }

// Package mcpio serves the Model Context Protocol: it publishes a registry of tools,
// prompts, resources and completion to a client on a pair of streams.
//
// It supports protocol revisions 2024-11-05 to 2026-07-28. mcp-go has the types and the
// versions of the protocol. This package reads, orders, answers and cancels requests
// itself, because a server must answer every request it has read, whatever the client does
// next: mcp-go's own server would be wrapped for each of these, and brings a second library
// of schemas into each start of the program.
package mcpio

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/telemetry"
)

// DefaultMaxLine is the default maximum length of a line: 32 MiB.
const DefaultMaxLine = 32 << 20

// DefaultSlowCall is the duration above which a call is logged as slow.
const DefaultSlowCall = time.Second

// Options say what a Server publishes and how. Only Registry is required.
type Options struct {
	// Title and Version say of the server, which is called savant, what clients show.
	Title, Version string
	// Icons are small pictures in PNG, which all clients that show icons take, by the names of
	// engines: for their tools. That of savant stands for the server and its prompts.
	Icons map[string][]byte
	// Registry holds the tools. Lists and calls use its current contents, and clients
	// are notified when they change.
	Registry *engines.Registry
	// BeforeList, if set, is called before tools are listed. It may add tools to the
	// registry or remove some. It must be fast.
	BeforeList func()
	// Apps has the pages that a client can show in the conversation. If it is nil, the
	// server offers none.
	Apps Apps
	// Offer is published beside the tools.
	Offer engines.Offer
	// Command is the command line that starts this program for the same folder. It
	// replaces "savant" in texts that name a command; "" leaves them unchanged.
	Command string
	// Logger gets one record per call, never with arguments or results. Nil discards
	// them.
	Logger *slog.Logger
	// SlowCall is the duration above which a call is logged as a warning with a timing
	// breakdown; 0 means DefaultSlowCall, a negative value never.
	SlowCall time.Duration
	// Trace opens a span for each tools/call, within the trace in its _meta; nil opens
	// none. The trace reaches the tool in either case.
	Trace telemetry.Tracer
	// Questions are shared by the servers that take each other's answers; nil: a question
	// is answered at the server that asked.
	Questions Questions
	// MaxLine is the maximum length of a line in bytes; 0 means DefaultMaxLine.
	MaxLine int
}

// Apps are pages that a client shows in the conversation (MCP Apps, revision 2026-01-26),
// and the tools of these pages. A client that does not show pages, or whose user must not
// be asked, has none of it.
type Apps interface {
	// Tools are those that show a page, and those for pages alone.
	Tools() *engines.Registry
	// Page returns the HTML of a page for a caller.
	Page(uri string, caller engines.Identity) (html string, found bool)
}

// Server publishes tools over MCP. It keeps no state about clients, so one Server may
// serve any number of streams concurrently.
type Server struct {
	options Options
	logger  *slog.Logger
}

// New returns a server. Its tools must be Publishable. The error names the first resource
// template that a client could not use: VALIDATION_FAILED.
func New(options Options) (*Server, error) {
	options = options.withDefaults()
	if options.Registry == nil {
		return nil, fault.New(fault.Internal, "a server needs a registry of tools")
	}
	if err := checkTemplates(options.Offer.ResourceTemplates); err != nil {
		return nil, err
	}
	return &Server{options: options, logger: options.Logger}, nil
}

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "0.0.0")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.SlowCall = cmp.Or(o.SlowCall, DefaultSlowCall)
	o.MaxLine = cmp.Or(max(o.MaxLine, 0), DefaultMaxLine)
	if o.BeforeList == nil {
		o.BeforeList = func() {}
	}
	return o
}

// Tool returns the tool of a name, which may be one of the pages.
func (s *Server) Tool(name string) (engines.Tool, bool) {
	tool, known := s.options.Registry.Resolve(name)
	if !known && s.options.Apps != nil {
		return s.options.Apps.Tools().Resolve(name)
	}
	return tool, known
}

// List returns the list that a client sees which is not known to support dots:
// {"tools": [...]}, as in the result of tools/list.
func (s *Server) List() (json.RawMessage, error) {
	list, err := jsonrpc.Encode(map[string]any{"tools": s.tools(Peer{}, false)})
	if err != nil {
		return nil, fault.New(fault.Internal, "the list of tools: %w", err)
	}
	return list, nil
}

// Package mcpio speaks the Model Context Protocol: it publishes a registry of
// tools, with prompts, resources and completion beside them, to one client on
// a pair of streams.
//
// Protocol revisions 2024-11-05 to 2026-07-28 are served. Negotiation,
// discovery, capabilities and lists are left to mcp-go. Tools, prompts and
// resources are called from here directly, and reading, ordering, cancelling,
// answering and stopping are done here, because a server must answer every
// request it has read, whatever the client does next.
package mcpio

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonrpc"
	"savant/telemetry"
)

// Values of Options.ToolNames. Many clients allow only [A-Za-z0-9_-] in tool
// names, so dots are listed only when asked for, or (auto) to clients known to
// cope. Calls are accepted in both spellings, always.
const (
	NamesAuto       = "auto"
	NamesUnderscore = "underscore"
	NamesDotted     = "dotted"
)

// DefaultMaxLine is the length in bytes up to which a line is read: 32 MiB.
const DefaultMaxLine = 32 << 20

// DefaultSlowCall is the duration above which a call is logged as slow.
const DefaultSlowCall = time.Second

// Options say what a Server publishes and how. Registry is required; for the
// rest the zero value is a sound default.
type Options struct {
	// Name, Title and Version identify the server to its clients. Name
	// defaults to "savant".
	Name, Title, Version string
	// Registry holds the tools. What is listed and called is what it holds at
	// that moment; clients are told when the list changes.
	Registry *engines.Registry
	// BeforeList, when set, is called before tools are listed, and may put tools
	// into the registry or take some out. It must be quick.
	BeforeList func()
	// Offer is what is published beside the tools.
	Offer engines.Offer
	// Command is how a person starts this program, with what it needs to find the
	// same folder. It takes the place of "savant" where a text names a command;
	// "" leaves that.
	Command string
	// Logger receives one record a call, never with arguments or results.
	// Nil discards.
	Logger *slog.Logger
	// ToolNames is NamesAuto (also when empty), NamesUnderscore or NamesDotted.
	ToolNames string
	// SlowCall is the duration above which a call is logged as a warning with
	// its parts timed; zero means DefaultSlowCall, negative never.
	SlowCall time.Duration
	// Trace opens a span for each tools/call, within the trace that its _meta
	// names; nil opens none. The trace reaches the tool in either case.
	Trace telemetry.Tracer
	// MaxLine is the longest line read, in bytes; zero means DefaultMaxLine.
	MaxLine int
}

// Server publishes tools over MCP. It holds nothing about a client, so one
// Server may serve any number of streams at once.
type Server struct {
	options  Options
	logger   *slog.Logger
	protocol *server.MCPServer
}

// New checks every tool of the registry and returns a server for them. The
// error names the first tool or resource template a client could not use; its
// code is VALIDATION_FAILED, or that of engines.Tool.Check. An unknown
// ToolNames is INVALID_PARAMS.
func New(options Options) (*Server, error) {
	options = options.withDefaults()
	if options.Registry == nil {
		return nil, fault.New(fault.Internal, "a server needs a registry of tools")
	}
	s := &Server{options: options, logger: options.Logger}
	for _, tool := range options.Registry.Tools() {
		if _, err := publishTool(tool); err != nil {
			return nil, err
		}
	}
	if !slices.Contains([]string{NamesAuto, NamesUnderscore, NamesDotted}, options.ToolNames) {
		return nil, fault.New(fault.InvalidParams, "tool names are %q, %q or %q, not %q", NamesAuto, NamesUnderscore, NamesDotted, options.ToolNames)
	}
	if err := checkTemplates(options.Offer.ResourceTemplates); err != nil {
		return nil, err
	}
	s.protocol = s.newProtocol()
	return s, nil
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "savant")
	o.Version = cmp.Or(o.Version, "0.0.0")
	o.ToolNames = cmp.Or(o.ToolNames, NamesAuto)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.SlowCall = cmp.Or(o.SlowCall, DefaultSlowCall)
	o.MaxLine = cmp.Or(max(o.MaxLine, 0), DefaultMaxLine)
	if o.BeforeList == nil {
		o.BeforeList = func() {}
	}
	return o
}

// List returns the published list as a client that is not known to cope with
// dots sees it: {"tools": [...]}, as in the result of tools/list.
func (s *Server) List() (json.RawMessage, error) {
	var list bytes.Buffer
	if err := jsonrpc.NewWriter(&list, nil).Write(map[string]any{"tools": s.tools("")}); err != nil {
		return nil, fault.New(fault.Internal, "the list of tools: %w", err)
	}
	return bytes.TrimSpace(list.Bytes()), nil
}

// Package engines holds the one table of tools: what the MCP server publishes
// is what the runtime calls.
package engines

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is one tool of the registry. Name is canonical and dotted ("think.next").
// Input and Output are JSON Schemas; Output is empty unless it is exact. The
// annotations must be true: a client may skip a confirmation because of them.
type Tool struct {
	Name, Title, Description                     string
	Input, Output                                json.RawMessage
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Eager tools are loaded at the start by clients that load others later.
	Eager bool
	// Timeout is how long a call may take; 0: what its engine says.
	Timeout time.Duration
	// Call runs the tool. Arguments were checked against Input. The result is
	// any value that marshals to a JSON object, or a Content. Errors carry a
	// fault.Code. It has to end when its context does.
	Call func(context.Context, json.RawMessage) (any, error)
	// Stray is told of arguments that the tool does not declare, and of those
	// that it does, before the first are dropped. An error refuses the call: it is
	// for what was meant as another argument, and says which. nil drops them all.
	Stray func(declared, stray map[string]json.RawMessage) error
	// derived is the input schema that Bind made of a Go type. It is valid by
	// construction, so it is compiled at the first call: compiling all of them
	// would be half of the time a server takes to start.
	derived json.RawMessage
}

// MetaAlwaysLoad is the _meta key of a tool by which Claude Code loads it at
// once instead of deferring it.
const MetaAlwaysLoad = "anthropic/alwaysLoad"

// Prompt is a text a client can offer its user by name.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	Get                      func(ctx context.Context, args map[string]string) (string, error)
}

// PromptArgument is one value a Prompt takes.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Resource is a document a client can read by its URI.
type Resource struct {
	URI, Name, Title, Description, MIMEType string
}

// ResourceTemplate describes a family of resources (RFC 6570).
type ResourceTemplate struct {
	URITemplate, Name, Title, Description, MIMEType string
}

// Offer is what a server offers beside its tools. Every function may be nil, and
// may be called by several goroutines at once. Lists are read at each call, since
// files change.
type Offer struct {
	Instructions      string
	Prompts           func(context.Context) ([]Prompt, error)
	Resources         func(context.Context) ([]Resource, error)
	ResourceTemplates []ResourceTemplate
	// ReadResource returns the text and MIME type of a URI, or a coded error.
	ReadResource func(ctx context.Context, uri string) (text, mimeType string, err error)
	// Complete returns values for an argument of a prompt (ref is its name)
	// or a variable of a resource template (ref is the template) that start
	// with prefix. chosen holds the arguments already decided.
	Complete func(ctx context.Context, ref, argument, prefix string, chosen map[string]string) ([]string, error)
	// Watch calls changed with "prompts" or "resources" when a list changes,
	// and returns when ctx ends.
	Watch func(ctx context.Context, changed func(list string)) error
}

// Elicitation is a question to the person behind a client.
type Elicitation struct {
	Message string
	// Schema is a flat JSON Schema object, as MCP asks.
	Schema json.RawMessage
}

// Answer is what the person did: Action is "accept", "decline" or "cancel";
// Content is the filled form when accepted.
type Answer struct {
	Action  string
	Content json.RawMessage
}

// Caller is the client behind a call, as far as it can do more than wait.
// A function is nil where the client cannot.
type Caller struct {
	Elicit   func(context.Context, Elicitation) (Answer, error)
	Progress func(done, total float64, message string)
	// Patient: the client waits as long as a call takes, and takes a result of any size.
	Patient bool
	// Spell writes a text of ours as the client can use it: tools have the names
	// that its list has, and commands can be run as they stand.
	Spell func(text string) string
}

// Spelled returns a text of ours as the client can use it.
func (c Caller) Spelled(text string) string {
	if c.Spell == nil {
		return text
	}
	return c.Spell(text)
}

type callerKey struct{}

// WithCaller returns a context that carries the client behind a call.
func WithCaller(ctx context.Context, caller Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// CallerFrom returns the client behind a call, or the zero Caller.
func CallerFrom(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

// Package engines holds the registry of tools, which the MCP server publishes and the
// runtime calls.
package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"savant/internal/jsonvalue"
	"savant/schemas"
)

// Tool is one tool of the registry. Name is canonical and dotted ("think.next"). The
// annotations must be true: a client may skip a confirmation because of them.
type Tool struct {
	Name, Title, Description string
	// Input and Output are JSON Schemas. A tool of Bind leaves them empty: InputSchema and
	// OutputSchema have those of its types.
	Input, Output                                json.RawMessage
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Exact: the type of the function that Bind was given has the schema of the results.
	Exact bool
	// Mounted: the tool is another MCP server's.
	Mounted bool
	// Eager asks clients that load tools lazily to load this one at the start.
	Eager bool
	// Page is the address of the page that a client shows with the tool, see mcpio.Apps;
	// TasksOnly: a client that takes no tasks cannot call the tool.
	TasksOnly bool
	// ForPages: the tool is called by pages alone.
	Page     string
	ForPages bool
	// Timeout bounds a call; 0: the engine's timeout holds.
	Timeout time.Duration
	// Call runs the tool with arguments that Input has accepted. The result is any
	// value that marshals to a JSON object, or a Content. Errors carry a fault.Code.
	// Call must return when its context ends.
	Call func(context.Context, Call, json.RawMessage) (any, error)
	// Judge says more of arguments than a schema can; nil: the schema says all.
	Judge Judge
	// takes and gives are the types of the function that Bind was given; nil for others.
	takes, gives reflect.Type
	// input and output are their schemas: valid by construction, and made when somebody
	// reads them, since most are read by nobody.
	input, output func() json.RawMessage
}

// Judge judges the arguments of a tool. It may be called concurrently.
type Judge interface {
	// Stray is called with the declared and the undeclared arguments before the latter
	// are dropped. It refuses the call with an error if an undeclared argument was
	// probably meant as a declared one.
	Stray(declared, stray map[string]json.RawMessage) error
	// Advise returns the refusal of a call's arguments with what is to be done instead.
	// It is given the arguments as they were sent.
	Advise(ctx context.Context, call Call, sent map[string]json.RawMessage, refused error) error
}

// MetaAlwaysLoad is the _meta key that makes Claude Code load a tool at once instead of
// deferring it.
const MetaAlwaysLoad = "anthropic/alwaysLoad"

// Prompt is a text that a client can offer its user by name.
type Prompt struct {
	Name, Title, Description string
	Arguments                []PromptArgument
	// Get returns the text with the names that the client lists, see Caller.Spelled.
	Get func(ctx context.Context, client Caller, args map[string]string) (string, error)
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

// Skill is an Agent Skill of one file: instructions that a model reads when it needs them.
type Skill struct {
	// Name and Frontmatter are what Text, the SKILL.md, says of itself.
	Name        string
	Frontmatter map[string]any
	Text        string
}

// Offer is what a server publishes beside its tools. Every function may be nil, and may
// be called concurrently. Lists are read at each request, since files change.
type Offer struct {
	Instructions      string
	Prompts           func(context.Context) ([]Prompt, error)
	Resources         func(context.Context) ([]Resource, error)
	ResourceTemplates []ResourceTemplate
	// Skills are published by the Skills extension, and read as resources at SkillURI.
	Skills func(context.Context) ([]Skill, error)
	// ReadResource returns the text and MIME type of a URI, or a coded error.
	ReadResource func(ctx context.Context, uri string) (text, mimeType string, err error)
	// Complete returns values with a prefix for an argument of a prompt (ref is its
	// name) or a variable of a resource template (ref is the template). chosen holds
	// the other arguments so far.
	Complete func(ctx context.Context, ref, argument, prefix string, chosen map[string]string) ([]string, error)
	// Watch calls changed with "prompts" or "resources" when a list changes, until ctx
	// ends.
	Watch func(ctx context.Context, changed func(list string)) error
}

// SkillURI is the address of a skill's SKILL.md.
func SkillURI(name string) string { return "skill://" + name + "/SKILL.md" }

// Elicitation is a question to the client's user.
type Elicitation struct {
	Message string
	// Schema is a flat JSON Schema object, as MCP requires.
	Schema json.RawMessage
	// URL is the page on which the user can answer, too. It is empty if no page exists.
	URL string
	// Run is the run that it is about; empty for none.
	Run string
}

// Answer is the person's reaction: Action is "accept", "decline" or "cancel"; Content
// is the filled form if accepted.
type Answer struct {
	Action  string
	Content json.RawMessage
	// Unseen: the client declined or cancelled by itself, sooner than a person can.
	Unseen bool
}

// Person answers questions. Ask may be called concurrently.
type Person interface {
	// Ask returns the person's reaction, which may take minutes; an error means that nobody
	// could be asked.
	Ask(ctx context.Context, question Elicitation) (Answer, error)
}

// Approver is a person who can be asked about a call.
type Approver interface {
	// Approve asks whether a call may be made; an error means that nobody answered.
	Approve(ctx context.Context, tool string, args json.RawMessage) (bool, error)
}

// approveCall is the form of a question whether a call may be made.
const approveCall = `{"type":"object","properties":{"approved":{"type":"boolean","title":"Approve this call"}},"required":["approved"]}`

// AskToCall asks whether a call may be made. A form that nobody saw, or that was closed, is
// no answer.
func AskToCall(ctx context.Context, person Person, question string) (agreed, answered bool) {
	answer, err := person.Ask(ctx, Elicitation{Message: question, Schema: json.RawMessage(approveCall)})
	if err != nil || answer.Unseen || answer.Action == "cancel" {
		return false, false
	}
	content, _ := jsonvalue.Decode(answer.Content)
	meant, _ := schemas.ConvertBy([]byte(approveCall), content)
	said, _ := meant.(map[string]any)
	return answer.Action == "accept" && said["approved"] == true, true
}

// PersonFunc is a function as a Person.
type PersonFunc func(context.Context, Elicitation) (Answer, error)

// Ask implements Person.
func (f PersonFunc) Ask(ctx context.Context, question Elicitation) (Answer, error) {
	return f(ctx, question)
}

// Identity says who made a call. The zero Identity is the program itself.
type Identity struct {
	// ID tells callers apart: it names a connection, a session over HTTP, or a token.
	ID string
	// Name is the name of the caller's token, or "local".
	Name string
	// Client is what the client calls itself, which nobody checked.
	Client string
	// Lasting: the ID is that of the same caller after a restart, too.
	Lasting bool
}

// Caller describes the client that made a call: what it can do beside waiting. A nil
// function means that the client cannot.
type Caller struct {
	Identity
	// Person is the client's user; nil if the client cannot ask.
	Person Person
	// Apps: the client shows the pages of tools in the conversation.
	Apps     bool
	Progress func(done, total float64, message string)
	// Patient: the client waits for a call of any duration and accepts a result of any
	// size.
	Patient bool
	// Resumes names the run about which the call brings an answer: another server began the
	// call and asked. Whether it was asked is known once the question is put again.
	Resumes string
	// Task is what the call becomes if it takes long; nil if the client waits for it.
	Task *Task
	// Spell adapts a text to the client: its tools have the names that the client
	// lists, and its commands can be run as printed.
	Spell func(text string) string
}

// Task is a call whose client takes the result later. It is safe for concurrent use.
type Task struct{ run atomic.Pointer[string] }

// ErrTaskCancelled is the cause of the end of a call whose client cancelled its task.
var ErrTaskCancelled = fmt.Errorf("the client cancelled the task: %w", context.Canceled)

// Begin notes the durable run that the call is about: it is there when the task is not.
func (t *Task) Begin(run string) {
	if t != nil {
		t.run.Store(&run)
	}
}

// Run returns that run; "" if none is known.
func (t *Task) Run() string {
	if t == nil || t.run.Load() == nil {
		return ""
	}
	return *t.run.Load()
}

// Spelled applies Spell, if it is set.
func (c Caller) Spelled(text string) string {
	if c.Spell == nil {
		return text
	}
	return c.Spell(text)
}

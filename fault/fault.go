// Package fault is the wire contract of every error Savant reports: a stable code,
// details for a person, and diagnostics with positions.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Code names one kind of error. A Code is itself an error, so
// errors.Is(err, fault.StateConflict) holds for every error that carries it.
type Code string

func (c Code) Error() string { return string(c) }

// The published codes. Once here, a code is never renamed.
const (
	UnknownWorkflow      Code = "UNKNOWN_WORKFLOW"
	YAMLSchemaViolation  Code = "YAML_SCHEMA_VIOLATION"
	InvalidParams        Code = "INVALID_PARAMS"
	UnresolvedVar        Code = "UNRESOLVED_VAR"
	UnknownTool          Code = "UNKNOWN_TOOL"
	CyclicDependency     Code = "CYCLIC_DEPENDENCY"
	AmbiguousName        Code = "AMBIGUOUS_NAME"
	DuplicateCapture     Code = "DUPLICATE_CAPTURE"
	IDCollision          Code = "ID_COLLISION"
	ExpressionError      Code = "EXPRESSION_ERROR"
	TemplateRenderError  Code = "TEMPLATE_RENDER_ERROR"
	ForeachNotArray      Code = "FOREACH_NOT_ARRAY"
	LimitExceeded        Code = "LIMIT_EXCEEDED"
	ValidationFailed     Code = "VALIDATION_FAILED"
	SchemaNotFound       Code = "SCHEMA_NOT_FOUND"
	InvalidTransition    Code = "INVALID_TRANSITION"
	ApprovalRequired     Code = "APPROVAL_REQUIRED"
	RepeatExhausted      Code = "REPEAT_EXHAUSTED"
	StateConflict        Code = "STATE_CONFLICT"
	StateCorrupt         Code = "STATE_CORRUPT"
	RunCancelled         Code = "RUN_CANCELLED"
	UnknownRun           Code = "UNKNOWN_RUN"
	UnknownStep          Code = "UNKNOWN_STEP"
	CheckpointNotFound   Code = "CHECKPOINT_NOT_FOUND"
	ResetNotAllowed      Code = "RESET_NOT_ALLOWED"
	PromptNotFound       Code = "PROMPT_NOT_FOUND"
	ResultTooLarge       Code = "RESULT_TOO_LARGE"
	StateNotSaved        Code = "STATE_NOT_SAVED"
	NotWitnessed         Code = "NOT_WITNESSED"
	EngineOffline        Code = "ENGINE_OFFLINE"
	EngineBusy           Code = "ENGINE_BUSY"
	ToolFailed           Code = "TOOL_FAILED"
	ToolTimeout          Code = "TOOL_TIMEOUT"
	ToolDenied           Code = "TOOL_DENIED"
	ToolChanged          Code = "TOOL_CHANGED"
	HooksMissing         Code = "HOOKS_MISSING"
	RuleRefused          Code = "RULE_REFUSED"
	TrustRequired        Code = "TRUST_REQUIRED"
	ReasoningUnavailable Code = "REASONING_UNAVAILABLE"
	InvalidIntent        Code = "INVALID_INTENT"
	GaveUp               Code = "GAVE_UP"
	Internal             Code = "INTERNAL"
)

// Diagnostic points at one thing that is wrong. Line and Column count from 1;
// zero means the place is not known.
type Diagnostic struct {
	// File is relative to SAVANT_PATH, or the name of a bundled file.
	File string `json:"file,omitempty"`
	// Path is where in the document: "steps[2].when", "params.pr".
	Path   string `json:"path,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Code is set only if it differs from the code of the whole error.
	Code Code `json:"code,omitempty"`
	// Severity is "warning" or "note", or empty for an error.
	Severity string `json:"severity,omitempty"`
	Message  string `json:"message"`
	// Pointer, Expected and Actual describe a value that does not fit its
	// schema; Pointer is an RFC 6901 JSON pointer into the value.
	Pointer  string `json:"pointer,omitempty"`
	Expected string `json:"expected,omitempty"`
	Actual   string `json:"actual,omitempty"`
	// Source is the line of the file, and below it a caret under the column.
	Source string `json:"source,omitempty"`
}

// Error is the one error type that leaves a package of Savant.
type Error struct {
	Code        Code
	Details     string
	Diagnostics []Diagnostic
	// Hint says what to do. On the wire it is the end of the details.
	Hint Hint
	// Extra holds further members of the JSON object: the instruction to
	// repeat, the step ids that were expected.
	Extra map[string]any
	cause error
}

// New returns an error of a code; the format may wrap a cause with %w.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Details: err.Error(), cause: errors.Unwrap(err)}
}

// Attach returns the error with one more member in its JSON object.
func (e *Error) Attach(name string, value any) *Error {
	if e.Extra == nil {
		e.Extra = map[string]any{}
	}
	e.Extra[name] = value
	return e
}

// OutcomeUnknown marks the failure of a call that may have had an effect, and returns the
// error: who asked for the call must not repeat it unasked.
func (e *Error) OutcomeUnknown() *Error { return e.Attach("outcome", "unknown") }

// Final returns the error with "retry": false if the same call would be refused again until
// somebody changes a file, an answer or the call; also are further codes of which that holds.
func (e *Error) Final(also ...Code) *Error {
	if !slices.Contains(append(also, InvalidParams, ToolDenied, ToolChanged, TrustRequired, YAMLSchemaViolation, UnknownWorkflow), e.Code) {
		return e
	}
	final := *e
	final.Extra = maps.Clone(e.Extra)
	return final.Attach("retry", false)
}

// Hint says what to do about an error. It is data so that each front end can phrase it:
// the command line names a command, an MCP client gets the name of a tool.
type Hint struct {
	// Call is the tool or command to call, if there is one.
	Call string
	// Text follows Call ("lists the runs"), or is the whole hint.
	Text string
}

func (h Hint) String() string { return strings.TrimSpace(h.Call + " " + h.Text) }

// DidYouMean is a hint that suggests names.
func DidYouMean(names ...string) Hint {
	return Hint{Text: "did you mean " + strings.Join(names, " or ") + "?"}
}

// Hinted returns a copy of the error with a hint. An error that already has a hint
// is returned as it is.
func (e *Error) Hinted(hint Hint) *Error {
	if hint == (Hint{}) || e.Hint != (Hint{}) {
		return e
	}
	hinted := *e
	hinted.Hint = hint
	return &hinted
}

// Message returns the details followed by the hint, as on the wire.
func (e *Error) Message() string {
	switch {
	case e.Hint == (Hint{}):
		return e.Details
	case strings.HasSuffix(e.Details, ":"): // the details introduce the hint
		return e.Details + " " + e.Hint.String()
	}
	return e.Details + "; " + e.Hint.String()
}

// With returns the error with diagnostics appended.
func (e *Error) With(diagnostics ...Diagnostic) *Error {
	e.Diagnostics = append(e.Diagnostics, diagnostics...)
	return e
}

// InFile returns what is wrong with a file as one error, with the code and the place of the
// first diagnostic; nil for none.
func InFile(name string, wrong []Diagnostic) error {
	if len(wrong) == 0 {
		return nil
	}
	err := New(wrong[0].Code, "%s:%d:%d: %s", name, wrong[0].Line, wrong[0].Column, wrong[0].Message)
	if more := len(wrong) - 1; more > 0 {
		err.Details += fmt.Sprintf(" (and %d more)", more)
	}
	return err.With(wrong...)
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message() }

// Unwrap makes both the code and the cause visible to errors.Is.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.cause}
}

// From returns err as an *Error. An error without a code becomes INTERNAL with
// neutral details, since its text may hold paths or secrets.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded
	}
	var code Code
	if errors.As(err, &code) {
		return &Error{Code: code, Details: string(code), cause: err}
	}
	return &Error{Code: Internal, Details: "an internal error; the log has the cause", cause: err}
}

// Limits of an error on the wire: docs/troubleshooting.md promises under 20 KB.
const (
	maxWire        = 19_000
	maxDetails     = 4000
	maxText        = 500
	maxDiagnostics = 10
)

// wire has an error's own members. The code is first so that a client that truncates
// the answer keeps it.
type wire struct {
	Error       Code         `json:"error"`
	Details     string       `json:"details"`
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// MarshalJSON writes {"error", "details", "diagnostics"} and then the attached
// members, sorted by name. The error's own members stay under 20 KB: texts are cut
// shorter until they fit.
func (e *Error) MarshalJSON() ([]byte, error) {
	var own []byte
	for details, text := maxDetails, maxText; ; details, text = details/2, text/2 {
		var err error
		if own, err = json.Marshal(wire{e.Code, Cut(e.Message(), details), e.shortDiagnostics(text)}); err != nil {
			return nil, err
		}
		if len(own) <= maxWire || text < 20 {
			break
		}
	}
	own = own[:len(own)-1]
	for _, name := range slices.Sorted(maps.Keys(e.Extra)) {
		if name == "error" || name == "details" || name == "diagnostics" {
			continue
		}
		member, err := json.Marshal(map[string]any{name: e.Extra[name]})
		if err != nil {
			return nil, err
		}
		own = append(append(own, ','), member[1:len(member)-1]...)
	}
	return append(own, '}'), nil
}

// shortDiagnostics returns the diagnostics with texts of at most limit bytes.
func (e *Error) shortDiagnostics(limit int) []Diagnostic {
	list := make([]Diagnostic, 0, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		if i == maxDiagnostics {
			return append(list, Diagnostic{Message: fmt.Sprintf("and %d more", len(e.Diagnostics)-i)})
		}
		for _, text := range []*string{&d.Message, &d.Path, &d.Pointer, &d.Expected, &d.Actual, &d.File, &d.Source} {
			*text = Cut(*text, limit)
		}
		list = append(list, d)
	}
	return list
}

// UnmarshalJSON reads what MarshalJSON writes. A hint becomes part of the details, and
// further members go to Extra as json.RawMessage.
func (e *Error) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	*e = Error{}
	known := map[string]any{"error": &e.Code, "details": &e.Details, "diagnostics": &e.Diagnostics}
	for name, raw := range members {
		into, ok := known[name]
		if !ok {
			e.Attach(name, raw)
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return err
		}
	}
	return nil
}

// Cut returns text with at most limit bytes, ending in "…" where it was cut,
// never inside a character.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-len("…"))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// WithoutPath returns the cause of a failed operation on a file, without the file's path.
func WithoutPath(err error) error {
	if failed := new(fs.PathError); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// PathOf writes a JSON pointer as paths are written: "items[0].name".
func PathOf(pointer string) string {
	var path strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if _, err := strconv.Atoi(token); err == nil {
			path.WriteString("[" + token + "]")
			continue
		}
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
	}
	return path.String()
}

// DiagnosticsOf returns the diagnostics of an error about a file; of one without any, one
// that says it.
func DiagnosticsOf(file string, err error) []Diagnostic {
	if err == nil {
		return nil
	}
	coded := From(err)
	if len(coded.Diagnostics) == 0 {
		return []Diagnostic{{File: file, Line: 1, Column: 1, Code: coded.Code, Message: coded.Message()}}
	}
	return coded.Diagnostics
}

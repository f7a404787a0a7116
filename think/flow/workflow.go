// Package flow is the pure core of Think. It parses workflows and decides what a run
// does next, from the workflow, its parameters and the results so far, and from nothing
// else: no I/O, no clock, no randomness. So equal inputs give equal instructions and
// state hashes in any process. docs/language.md defines the language.
package flow

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/schemas"
	"savant/think/flow/expression"
)

// Defaults and bounds of the language.
const (
	DefaultRetries   = 2
	DefaultMaxItems  = 100
	DefaultMaxSteps  = 10_000
	MaxWorkflowDepth = 8
	// MaxParallel bounds the instructions outstanding at once, because each reply lists
	// them all.
	MaxParallel = 1000
	// maxLimit bounds the other limits a workflow may set.
	maxLimit = 1_000_000
)

// The calls that need no outside tool.
const (
	CallGenerate = "llm.generate"
	CallApprove  = "human.approve"
	CallAsk      = "human.ask"
	CallRun      = "flow.run"
	CallAssert   = "flow.assert"
	CallSet      = "flow.set"
)

// Answering is how a person answers a step.
type Answering int

const (
	// NoPerson: a person does not.
	NoPerson Answering = iota
	// Decides: with approved or not, and a comment.
	Decides
	// FillsIn: with what a form asks for.
	FillsIn
)

// AnsweringOf returns how a person answers the steps of a call.
func AnsweringOf(call string) Answering {
	switch call {
	case CallApprove:
		return Decides
	case CallAsk:
		return FillsIn
	}
	return NoPerson
}

var reservedCalls = []string{CallGenerate, CallApprove, CallAsk, CallRun, CallAssert, CallSet}

var (
	workflowName = pattern.Lazy(`^[a-z][a-z0-9_-]{0,63}$`)
	// childName is that of a workflow that is run, with the folders that choose one of several.
	childName    = pattern.Lazy(`^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,63}/){0,3}[a-z][a-z0-9_-]{0,63}$`)
	stepName     = pattern.Lazy(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	variableName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	toolName     = pattern.Lazy(`^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_][A-Za-z0-9_/-]*)+$`)
	toolPattern  = pattern.Lazy(`^[A-Za-z0-9*@][A-Za-z0-9*@:._/-]{0,127}$`)
	durationText = pattern.Lazy(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)
	versionText  = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)
)

// Edition is a reading of the language: what a workflow's file means. A run keeps the
// edition that it was planned with, so that a newer Savant replays it identically.
type Edition int

const (
	// FirstEdition is the reading of runs that recorded none.
	FirstEdition Edition = iota
	// SecondEdition adds barriers, and an expression reads only what is evaluated.
	SecondEdition
	// ThirdEdition does not count a loop as done that stopped before its last item.
	ThirdEdition

	// CurrentEdition is the reading of a run that is planned now.
	CurrentEdition = ThirdEdition
)

// rootNames are reserved: no loop variable or parameter may have one.
var rootNames = []string{"params", "state", "steps", "item", "loop", "run", "result"}

// Workflow is one parsed file. It is immutable.
type Workflow struct {
	Name, Version, Description string
	// File is where it was read, for diagnostics.
	File string
	// StrictTools makes a tool that no registry knows an error at plan.
	StrictTools bool
	// Enforce is one of the Enforce constants.
	Enforce string
	// Ruled says that the file has rules about calls, which package rules reads.
	Ruled bool
	// Digest is the hex SHA-256 of the file's bytes.
	Digest string
	Source []byte
	Params []Param
	// OpenParams says that the file has no params: what it reads is required, and any
	// other parameter is accepted.
	OpenParams bool
	Schemas    map[string]any
	Limits     Limits
	Defaults   Defaults
	Steps      []*Step
	Outputs    []Output
	Artifacts  []Artifact

	summary  *template
	set      *schemas.Set
	warnings []fault.Diagnostic
}

// The values of enforce: whether a session may plan a run without hooks that hold it to
// the run.
const (
	EnforceOff      = "off"
	EnforceRequired = "required"
)

// Param is one parameter: a JSON Schema with two keys of ours.
type Param struct {
	Name     string
	Required bool
	Default  any
	// HasDefault distinguishes a default of null from no default.
	HasDefault  bool
	Description string
	// Schema is the parameter's JSON Schema without our keys.
	Schema any
	// Written is Schema in JSON, in the order in which it is written.
	Written []byte

	check *schemas.Schema
}

// Limits bound one run.
type Limits struct {
	// Items bounds the length of a loop's list, Steps the steps of a run, Parallel the
	// instructions outstanding at once.
	Items, Parallel, Steps int
	// ParallelWritten says that the file has Parallel, which is not the default.
	ParallelWritten bool
	// Groups bound the instructions outstanding at once of the steps of each group.
	Groups map[string]int
}

// Defaults are what a file sets for its steps that do not say otherwise. An OnFailure of
// continue is not for the calls that can be checks: what a check is for is not turned
// off from afar.
type Defaults struct {
	OnFailure OnFailure
	Retry     Retry
}

// Output is one named value of the finished run.
type Output struct {
	Name  string
	value *template
}

// Artifact is a value that the finished run stores by its content.
type Artifact struct {
	Name, Type string
	from       *expression.Program
	where      *source
}

// The values of a step's keys.
type (
	// OnFailure is the effect of a failed step on its workflow.
	OnFailure string
	// Join is the condition on the outcomes of the dependencies.
	Join string
)

// See docs/language.md, "Settling".
const (
	Fail     OnFailure = "fail"
	Continue OnFailure = "continue"
	SkipRest OnFailure = "skip_rest"

	JoinAll     Join = "all"
	JoinSuccess Join = "success"
	JoinAny     Join = "any"
	JoinDone    Join = "done"
)

// Retry is how often and how patiently a failed attempt is repeated.
type Retry struct {
	// Max counts the attempts after the first.
	Max int
	// Backoff is waited by an executing runtime before the first repeat and
	// doubled after each ("2s"; a Go duration); a guided client does not wait.
	Backoff string
	// OnUnknown repeats a call with effect: write also where it is not known whether it
	// had an effect.
	OnUnknown bool
}

// Check names a validator of the result, or of one of its fields.
type Check struct {
	Field string // "" for the whole result
	By    schemas.Validator
}

// Step is one step as written.
type Step struct {
	ID, Call, CaptureAs, Rationale string
	Deps                           []string
	When, Foreach, Extract         *expression.Program
	// Parallel gives how many items of a loop are under way at once; nil where the step
	// does not say.
	Parallel *expression.Program
	// Group is one of Limits.Groups, or empty.
	Group string
	// As names the loop variable; it is empty outside loops.
	As     string
	Schema *schemas.Schema
	// asked is Schema in the order in which it is written, of a human.ask.
	asked []byte
	// Checks apply to the result after the schema.
	Checks    []Check
	Retry     Retry
	OnFailure OnFailure
	// Effect is "write" where the file says so, else "read".
	Effect string
	Join   Join
	// JoinWritten says that the file has the step's join, which is not the default.
	JoinWritten bool
	// NoBarrier says that the step, a check, does not hold the steps below it.
	NoBarrier bool
	// Timeout is a Go duration such as "30s", or empty.
	Timeout string
	Witness string
	// Complex says that the large model answers the step.
	Complex bool
	// Allow are the tools that the model may call while it answers an llm.generate
	// step: names, patterns, or "read"; nil where the step does not say.
	Allow *[]string
	// Approval says of a person's step who answers it, and what a yes covers; nil where the
	// step does not say.
	Approval *Approval
	// Source is the place of a document that the step carries out; nil for none.
	Source *Quote
	// Broken says that an expression of the step is wrong and left out: see Unfinished.
	Broken bool
	// Child and ChildVersion name the workflow of a flow.run step; Until and
	// Rounds are its repeat, Rounds 0 without one.
	Child, ChildVersion string
	Until               *expression.Program
	Rounds              int

	input                                 *template
	path                                  string // "steps[3]"
	at, callAt, captureAt, childAt        position
	whenAt, foreachAt, extractAt, untilAt *source
	parallelAt                            *source
	depsAt                                []position
}

// Person reports whether only a person may settle the step.
func (s *Step) Person() bool { return s.Answering() != NoPerson }

// Answering returns how a person answers the step.
func (s *Step) Answering() Answering { return AnsweringOf(s.Call) }

// Internal reports whether Savant itself settles the step.
func (s *Step) Internal() bool {
	return s.Call == CallAssert || s.Call == CallSet || s.Call == CallRun
}

// mayCheck reports whether the call can be a check, which holds the steps below it.
func (s *Step) mayCheck() bool {
	return s.Answering() == Decides || s.Call == CallAssert || s.Call == CallRun
}

// Tool returns the name of the outside tool the step calls, or "".
func (s *Step) Tool() string {
	if slices.Contains(reservedCalls, s.Call) {
		return ""
	}
	return s.Call
}

// Tools returns each outside tool the workflow calls with a diagnostic that
// points at its first use, in the order of the file.
func (w *Workflow) Tools() []fault.Diagnostic {
	var found []fault.Diagnostic
	seen := map[string]bool{}
	add := func(tool, path string, at position) {
		if tool != "" && !seen[tool] {
			seen[tool] = true
			found = append(found, fault.Diagnostic{File: w.File, Path: path, Line: at.line, Column: at.column, Code: fault.UnknownTool, Actual: tool})
		}
	}
	for _, step := range w.Steps {
		if add(step.Tool(), step.path+".call", step.callAt); step.Approval != nil && step.Approval.Scope != nil {
			add(step.Approval.Scope.Call, step.path+".scope.call", step.Approval.Scope.callAt)
		}
	}
	return found
}

// Approvers returns each name in approvers with a diagnostic that points at its first use.
func (w *Workflow) Approvers() []fault.Diagnostic {
	var found []fault.Diagnostic
	for _, step := range w.Steps {
		if step.Approval == nil {
			continue
		}
		for i, name := range step.Approval.Approvers {
			at := step.Approval.approversAt[i]
			if known := func(d fault.Diagnostic) bool { return d.Actual == name }; !slices.ContainsFunc(found, known) {
				found = append(found, fault.Diagnostic{File: w.File, Path: step.path + ".approvers[" + strconv.Itoa(i) + "]", Line: at.line, Column: at.column, Code: fault.ApprovalRequired, Actual: name})
			}
		}
	}
	return found
}

// Warnings are of what YAML reads otherwise than it looks: texts that a # cuts, numbers
// that may be meant as texts.
func (w *Workflow) Warnings() []fault.Diagnostic { return slices.Clone(w.warnings) }

// Template returns the step's input_template, nil where it has none.
func (s *Step) Template() *Template { return s.input }

// Path is where the step is in its file: "steps[3]".
func (s *Step) Path() string { return s.path }

// Sites are where the expressions of a step stand, nil for those it has not.
type Sites struct{ When, Foreach, Extract, Until, Parallel *Site }

// Sites returns where the step's expressions stand.
func (s *Step) Sites() Sites {
	return Sites{s.whenAt, s.foreachAt, s.extractAt, s.untilAt, s.parallelAt}
}

// Check checks a value against the parameter's schema: VALIDATION_FAILED.
func (p Param) Check(value any) error { return p.check.Check(value) }

// Template returns the output's value as written.
func (o Output) Template() *Template { return o.value }

// From returns the expression of the artifact's value, and where it stands.
func (a Artifact) From() (*expression.Program, *Site) { return a.from, a.where }

// Summary returns the summary as written, or nil.
func (w *Workflow) Summary() *Template { return w.summary }

// SchemaSet returns the named schemas, including those of the file.
func (w *Workflow) SchemaSet() *schemas.Set { return w.set }

// The keys that the maps of a workflow file may have.
var (
	workflowKeys = []string{"name", "version", "description", "desc", "params", "schemas", "limits", "defaults", "steps", "outputs", "summary", "artifacts", "strict_tools", "enforce", "rules"}

	stepKeys = []string{"id", "call", "input_template", "deps", "when", "foreach", "as", "extract", "success_schema", "check", "capture_as",
		"rationale", "retry", "on_failure", "timeout", "join", "barrier", "group", "parallel", "effect", "witness", "allow", "complex", "repeat", "source",
		"scope", "approvers", "count", "remind_after", "escalate_after"}

	limitKeys    = []string{"items", "parallel", "steps", "groups"}
	defaultKeys  = []string{"on_failure", "retry"}
	retryKeys    = []string{"max", "backoff", "on_unknown"}
	repeatKeys   = []string{"until", "max"}
	quoteKeys    = []string{"file", "line", "quote"}
	artifactKeys = []string{"name", "type", "from"}
	scopeKeys    = []string{"call", "where", "at_most", "expires"}
)

// Keys returns the keys that the parser knows, by the kind of map.
func Keys() map[string][]string {
	return map[string][]string{"workflow": workflowKeys, "step": stepKeys, "limits": limitKeys, "defaults": defaultKeys,
		"retry": retryKeys, "repeat": repeatKeys, "source": quoteKeys, "artifact": artifactKeys, "scope": scopeKeys}
}

// ConvertTexts returns parameters as they were meant: one that does not fit, as models send
// "5" for an integer, is replaced by what its text stands for if that fits.
func (w *Workflow) ConvertTexts(given map[string]any) map[string]any {
	converted := maps.Clone(given)
	for _, param := range w.Params {
		value, sent := given[param.Name]
		if !sent || param.Check(value) == nil {
			continue
		}
		schema, _ := param.Schema.(map[string]any)
		if other, differs := schemas.Convert(schema, schema, value); differs && param.Check(other) == nil {
			converted[param.Name] = other
		}
	}
	return converted
}

// Bind checks parameters against the workflow and fills in defaults; a parameter
// neither given nor defaulted is null. They are returned in the form that a journal
// returns (2.0 becomes 2), so that a replayed run computes the same. INVALID_PARAMS
// lists every problem.
func (w *Workflow) Bind(given map[string]any) (map[string]any, error) {
	bound := make(map[string]any, len(w.Params))
	var problems []fault.Diagnostic
	report := func(name string, each fault.Diagnostic) {
		each.Path = "params." + name
		problems = append(problems, each)
	}
	known := make([]string, 0, len(w.Params))
	for _, param := range w.Params {
		known = append(known, param.Name)
		value, ok := given[param.Name]
		if (!ok || value == nil && param.Default != nil) && param.HasDefault {
			value = param.Default
		} else if ok && (value != nil || param.Required) {
			if err := param.check.Check(value); err != nil {
				problem := fault.From(err)
				for _, each := range problem.Diagnostics {
					report(param.Name, each)
				}
				if len(problem.Diagnostics) == 0 {
					report(param.Name, fault.Diagnostic{Message: problem.Message()})
				}
			}
		} else if !ok && param.Required {
			report(param.Name, fault.Diagnostic{Message: "is required"})
		}
		bound[param.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		if bound[name] = given[name]; !w.OpenParams {
			report(name, fault.Diagnostic{Message: "the workflow has no such parameter" + suggestion(name, known, "")})
		}
	}
	if len(problems) > 0 {
		return nil, fault.New(fault.InvalidParams, "workflow %q: %s: %s", w.Name, problems[0].Path, problems[0].Message).With(problems...)
	}
	return canonical(bound)
}

func canonical(params map[string]any) (map[string]any, error) {
	data, err := jsonvalue.Encode(params)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "params: %w", err)
	}
	value, err := jsonvalue.Decode(data)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "params: %w", err)
	}
	object, _ := value.(map[string]any)
	return object, nil
}

// ParamsSchema returns the schema of an object of some of the workflow's parameters, in the
// order in which it is written.
func (w *Workflow) ParamsSchema(params []Param) []byte {
	var properties jsonvalue.Object
	required := []string{}
	for _, param := range params {
		written := json.RawMessage(param.Written)
		if len(written) == 0 || written[0] != '{' {
			written = json.RawMessage("{}")
		}
		properties.Add(param.Name, written)
		if param.Required {
			required = append(required, param.Name)
		}
	}
	schema := jsonvalue.Object{{Name: "type", Value: "object"}, {Name: "required", Value: required}, {Name: "properties", Value: properties}}
	if len(params) == 0 { // a form has no field
		schema.Add("additionalProperties", false)
	}
	raw, err := jsonvalue.Encode(schema)
	if err != nil {
		return nil // never: it was JSON
	}
	if w.set == nil {
		return raw
	}
	return w.set.Whole(raw)
}

// Missing returns the required parameters that are not given.
func (w *Workflow) Missing(given map[string]any) []Param {
	var missing []Param
	for _, param := range w.Params {
		if _, ok := given[param.Name]; !ok && param.Required && !param.HasDefault {
			missing = append(missing, param)
		}
	}
	return missing
}

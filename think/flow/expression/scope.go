package expression

import (
	"maps"
	"slices"

	"savant/internal/shell"
)

// The roots of the language: what a Reference starts from.
const (
	rootParams = "params"
	rootState  = "state"
	rootSteps  = "steps"
	rootItem   = "item"
	rootLoop   = "loop"
	rootRun    = "run"
	rootResult = "result"
	rootInput  = "input"
)

// Scope defines the names of a source. It is known when the workflow is parsed, before
// there are values.
type Scope struct {
	Params Names // names under params
	// AnyParam says that every name under params is one: the file declares none.
	AnyParam bool
	Captures Names // names under state
	Steps    Names // ids under steps; each has the fields of a step
	// Kept are the captures by the ids of their steps, for messages.
	Kept map[string]string
	// Item is the name of the loop variable, "" outside loops. If it is set, loop
	// is available too.
	Item string
	// Outcome reports whether run.status and run.failed are available: in a handler.
	Outcome bool
	// Result reports whether result is available, as in extract.
	Result bool
	// Roots are those of a rule, in place of params, state, steps and run.
	Roots map[string]Root
}

// Names is a set of names.
type Names map[string]bool

// NamesOf returns a set of names.
func NamesOf(names ...string) Names {
	set := make(Names, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// The fields of a step under steps. All but the status may be null.
const (
	StepStatus = "status" // done, skipped or failed
	StepError  = "error"  // {code, details, attempts} of a failed step
	StepReason = "reason" // why a step was skipped
	StepLast   = "last"   // the outputs of the last round of a repeat
)

var stepFields = []string{StepStatus, StepError, StepReason, StepLast}

// The names under run that say how the steps before ended, see Scope.Outcome.
const (
	RunStatus = "status" // ok or failing
	RunFailed = "failed" // the ids of the failed steps
)

// The names under run and under loop.
var (
	runNames     = NamesOf("id", "workflow", "version")
	outcomeNames = NamesOf("id", "workflow", "version", RunStatus, RunFailed)
	loopNames    = NamesOf("index", "first", "last", "length")
)

// has reports whether a name exists under a root.
func (s Scope) has(root, name string) bool {
	return s.names(root)[name] || root == rootParams && s.AnyParam
}

// namesUnder returns the names under a root, in any order.
func (s Scope) namesUnder(root string) []string { return slices.Collect(maps.Keys(s.names(root))) }

func (s Scope) names(root string) Names {
	if s.Roots != nil {
		return s.Roots[root].Names
	}
	switch root {
	case rootParams:
		return s.Params
	case rootState:
		return s.Captures
	case rootSteps:
		return s.Steps
	case rootRun:
		if s.Outcome {
			return outcomeNames
		}
		return runNames
	case rootLoop:
		return loopNames
	default:
		return nil
	}
}

// isRoot reports whether a name is a root in this scope. The loop variable is a
// bare name instead, which may be ambiguous.
func (s Scope) isRoot(name string) bool {
	if s.Roots != nil {
		_, is := s.Roots[name]
		return is
	}
	switch name {
	case rootParams, rootState, rootSteps, rootRun:
		return true
	case rootLoop:
		return s.Item != ""
	case rootResult:
		return s.Result
	default:
		return false
	}
}

// meanings returns the possible roots of a bare name, in order of precedence.
func (s Scope) meanings(name string) []string {
	var roots []string
	if s.Item != "" && name == s.Item {
		roots = append(roots, rootItem)
	}
	for _, root := range []string{rootState, rootParams} {
		if s.names(root)[name] {
			roots = append(roots, root)
		}
	}
	return roots
}

// bareNames returns every name that is valid in this scope, in any order.
func (s Scope) bareNames() []string {
	if s.Roots != nil {
		return slices.Collect(maps.Keys(s.Roots))
	}
	names := []string{rootParams, rootState, rootSteps, rootRun}
	if s.Item != "" {
		names = append(names, s.Item, rootLoop)
	}
	if s.Result {
		names = append(names, rootResult)
	}
	return slices.Concat(names, s.namesUnder(rootState), s.namesUnder(rootParams))
}

// Reference is one read of the Env, found when the expression is compiled.
type Reference struct {
	// Root is params, state, steps, item, loop, run or result. Name is the member read; ""
	// for item and result, and if params, loop or run is read as a whole. A bare name is
	// resolved: the capture a is {state a}.
	Root, Name string
	// Field is what is read of a step: one of StepFields.
	Field string
	// Soft reports that null is expected: ?. follows the read, or the read is the
	// left side of ??.
	Soft bool
	// Offset is the byte in the source where the read begins.
	Offset int
}

// Steps gives what the steps of a run left.
type Steps interface {
	// Capture returns a capture: NoCapture for that of a step that was skipped.
	Capture(name string) any
	// Field returns a field of a step, such as StepStatus.
	Field(step, name string) any
}

// Env holds the values of the names of a Scope for one evaluation. Values have the
// types of package jsonvalue and are immutable; a result may share parts with them.
type Env struct {
	Params map[string]any
	// Steps has what the steps left; nil: nothing.
	Steps     Steps
	Item      any
	Loop, Run map[string]any
	Result    any
	// Values are those of Scope.Roots.
	Values Values
	// Commands keeps what commands(…) read, so that the expressions of one decision read a text
	// once; nil: nothing is kept.
	Commands Commands
}

// Commands are those of texts and of inputs, see commandsKey.
type Commands map[any][]shell.Command

// Absence stands in an Env for a value that is not there.
type Absence uint8

const (
	// NoCapture is the capture of a step that has none. A soft read of it is null; a hard
	// one ends the evaluation with an Error whose Absent names it.
	NoCapture Absence = iota + 1
	// Undecided is a value that is not known yet: any read of it ends the evaluation.
	Undecided
)

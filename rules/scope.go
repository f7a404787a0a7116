package rules

import (
	"errors"
	"slices"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/flow/expression"
)

// The roots of a rule's expressions. A name of evidence is one more.
const (
	rootInput  = "input"
	rootCalls  = "calls"
	rootFailed = "failed"
	rootFacts  = "facts"
	// rootParams and rootState are of the run, in the rules of a workflow.
	rootParams = "params"
	rootState  = "state"
	// rootRun stands for both.
	rootRun    = "run"
	rootResult = "result"
	// rootCall is a list of the call that an if or a success is about.
	rootCall = "call"
)

// callFields are the members of a call in calls and in evidence.
var callFields = expression.NamesOf("input", "result", "at", "id", "witness")

// reserved are names that evidence cannot have.
var reserved = map[string]bool{rootInput: true, rootCalls: true, rootFailed: true, rootFacts: true, rootResult: true, rootCall: true,
	rootParams: true, rootState: true, "null": true, "nil": true, "true": true, "false": true, "not": true, "and": true, "or": true, "in": true, "let": true, "if": true, "else": true, "matches": true, "contains": true, "startsWith": true, "endsWith": true}

// roots returns the scope of an expression that knows some roots.
func (p *parser) roots(names ...string) map[string]expression.Root {
	known := map[string]expression.Root{}
	for _, name := range names {
		known[name] = expression.Root{}
	}
	if p.file.Digest != "" && slices.Contains(names, rootRun) {
		known[rootParams], known[rootState] = expression.Root{Names: p.params, Members: true}, expression.Root{Names: p.captures, Members: true}
	}
	delete(known, rootRun)
	if _, is := known[rootFacts]; is {
		facts := expression.Names{}
		for name := range p.file.facts {
			facts[name] = true
		}
		known[rootFacts] = expression.Root{Names: facts}
	}
	return known
}

// allRoots returns the scope of a condition.
func (p *parser) allRoots() map[string]expression.Root {
	known := p.roots(rootInput, rootFacts, rootRun)
	known[rootCalls], known[rootFailed] = expression.Root{Lists: true}, expression.Root{Lists: true}
	for name := range p.file.evidence {
		known[name] = expression.Root{Names: callFields}
	}
	return known
}

// condition compiles a condition of a rule.
func (p *parser) condition(value any, at string) *condition {
	source, _ := value.(string)
	if known := p.conditions[source]; known != nil {
		known.shared = true
		return &condition{Condition: known.Condition, site: p.layout.Value(at), shared: true}
	}
	compiled := p.compile(value, at, "", "", p.allRoots())
	p.conditions[source] = compiled
	return compiled
}

// beforeCall and afterCall make a predicate of the call in question of an expression:
// .result is its result, and so is result.
const (
	beforeCall = "any(" + rootCall + ", "
	afterCall  = ")"
)

// ofCall compiles an expression about a call that was made.
func (p *parser) ofCall(value any, at string, names ...string) *condition {
	return p.compile(value, at, beforeCall, "\n"+afterCall, p.roots(append(names, rootCall)...))
}

// compile compiles a condition between two texts.
func (p *parser) compile(value any, at, before, after string, roots map[string]expression.Root) *condition {
	source, is := value.(string)
	if !is {
		p.Fail(at, "a condition is text, not %s", jsonvalue.Kind(value))
		return nil
	}
	site := p.layout.Value(at)
	compiled, err := expression.CompileCondition(before+source+after, expression.Scope{Roots: roots})
	if err != nil {
		p.wrongExpression(err, site, len(before))
		return nil
	}
	return &condition{Condition: compiled, site: site, shift: len(before)}
}

func (p *parser) wrongExpression(err error, site *flow.Site, shift int) {
	wrong := expressionError(err)
	p.Wrong = append(p.Wrong, site.Diagnostic(wrong.Code, wrong.Offset-shift, wrong.Message))
}

func expressionError(err error) *expression.Error {
	var wrong *expression.Error
	if !errors.As(err, &wrong) {
		return &expression.Error{Code: fault.Internal, Message: err.Error()}
	}
	return wrong
}

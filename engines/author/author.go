// Package author is the engine "author": it judges the text of a workflow and of its cases
// before they are files, so that a model can write both. Nothing is written or called.
package author

import (
	"context"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/cases"
	"savant/think/flow"
)

// Name is the engine's name in MCP_SERVICE.
const Name = "author"

// The bounds of a call: bytes of a text, steps of a run, cases of a file; and of a reply:
// findings of a kind, failing cases, differences of one, steps, bytes of a value.
const (
	maxText        = 256 << 10
	maxSteps       = 10_000
	maxCases       = 200
	maxFindings    = 20
	maxDifferences = 5
	maxShown       = 100
	maxValue       = 400
)

// Engine returns the engine and its tools.
func Engine(guide *think.Engine) (engines.Engine, []engines.Tool) {
	a := author{guide}
	return engines.Engine{Name: Name, Description: "judges a workflow and its cases while a model writes them", Concurrency: 4, Timeout: time.Minute}, []engines.Tool{
		engines.BindReading("think.author.check", "Check a workflow's text", a.check, "Check the text of a workflow, and of its cases: errors with line and column, cases that fail with expected and seen, and what no case reaches. Nothing is written or called."),
		engines.BindReading("think.author.try", "Try a workflow's text", a.try, "Show what a run of a workflow's text would issue with these parameters and answers, and both ways on where a result is not known. Nothing is written or called."),
	}
}

type author struct{ guide *think.Engine }

type checkInput struct {
	Workflow string `json:"workflow" doc:"the YAML of a workflow"`
	Cases    string `json:"cases,omitempty" doc:"the YAML of its cases"`
}

// checked is the judgement of a workflow and its cases.
type checked struct {
	Valid    bool               `json:"valid" doc:"the workflow has no error"`
	Errors   []fault.Diagnostic `json:"errors" doc:"what must be mended, with line and column"`
	Warnings []fault.Diagnostic `json:"warnings,omitempty"`
	Notes    []fault.Diagnostic `json:"notes,omitempty"`
	Cases    *tested            `json:"cases,omitempty" doc:"what its cases came to"`
}

type tested struct {
	Passed   int                `json:"passed"`
	Failed   int                `json:"failed"`
	Errors   []fault.Diagnostic `json:"errors" doc:"mistakes in the cases, with line and column"`
	Failures []failure          `json:"failures,omitempty" doc:"cases that came to something else"`
	Percent  int                `json:"percent" doc:"of the points of the workflow that cases reach"`
	Missing  []cases.Uncovered  `json:"missing,omitempty" doc:"points that no case reaches"`
}

type failure struct {
	Name        string             `json:"name"`
	Line        int                `json:"line"`
	Differences []cases.Difference `json:"differences"`
}

func (a author) check(ctx context.Context, in checkInput) (*checked, error) {
	out, graph, err := a.judge(ctx, in.Workflow)
	if err != nil || graph == nil || in.Cases == "" {
		return out, err
	}
	if len(in.Cases) > maxText {
		return nil, tooLong("cases", len(in.Cases))
	}
	out.Cases, err = a.runCases(ctx, in.Cases, graph)
	return out, err
}

func tooLong(name string, size int) error {
	return fault.New(fault.LimitExceeded, "%s has %d bytes; at most %d are read", name, size, maxText)
}

// judge validates a workflow's text. graph is nil if it has errors.
func (a author) judge(ctx context.Context, text string) (out *checked, graph *flow.Graph, err error) {
	switch {
	case text == "":
		return nil, nil, fault.New(fault.InvalidParams, "workflow is empty: give the YAML of a workflow")
	case len(text) > maxText:
		return nil, nil, tooLong("workflow", len(text))
	}
	found, err := a.guide.Validate(ctx, think.ValidateInput{WorkflowYAML: text})
	if err != nil {
		return nil, nil, err
	}
	out = &checked{Valid: found.Valid, Errors: first(found.Errors, maxFindings), Warnings: first(found.Warnings, maxFindings), Notes: first(found.Notes, maxFindings)}
	if !found.Valid {
		return out, nil, nil
	}
	workflow, err := a.guide.Library.Parse("", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	linked, err := a.guide.Library.Compile(workflow)
	if err != nil {
		return nil, nil, err
	}
	bounded, own := *linked, *workflow // a text may not ask for more steps than a call may take
	own.Limits.Steps = min(own.Limits.Steps, maxSteps)
	bounded.Workflow = &own
	return out, &bounded, nil
}

// first returns at most so many members, never nil.
func first[T any](list []T, most int) []T { return append([]T{}, list[:min(len(list), most)]...) }

// casesFile names the text in diagnostics.
const casesFile = "cases.yaml"

func (a author) runCases(ctx context.Context, text string, graph *flow.Graph) (*tested, error) {
	out := &tested{Errors: []fault.Diagnostic{}}
	file, err := cases.Parse(casesFile, []byte(text))
	if err == nil {
		err = cases.Check(file, graph)
	}
	if err == nil && len(file.Cases) > maxCases {
		return nil, fault.New(fault.LimitExceeded, "%d cases; at most %d are run", len(file.Cases), maxCases)
	}
	if err != nil {
		out.Errors = first(fault.DiagnosticsOf(casesFile, err), maxFindings)
		return out, nil
	}
	file = file.Ruled(a.guide.Rules)
	reached := cases.Points{}
	for _, each := range file.Cases {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		result := cases.Run(file, each, graph)
		for point := range result.Reached {
			reached[point] = true
		}
		if len(result.Differences) == 0 {
			out.Passed++
			continue
		}
		if out.Failed++; out.Failed <= maxFindings {
			out.Failures = append(out.Failures, failure{result.Name, result.Line, firstDifferences(result.Differences)})
		}
	}
	coverage := cases.Cover(graph, reached, file.Excuses)
	out.Percent, out.Missing = coverage.Percent(), first(coverage.Missing, maxShown)
	return out, nil
}

// firstDifferences returns the first differences with short values.
func firstDifferences(all []cases.Difference) []cases.Difference {
	all = first(all, maxDifferences)
	for i := range all {
		all[i].Expected, all[i].Seen = cut(all[i].Expected), cut(all[i].Seen)
	}
	return all
}

// cut returns a value, or the beginning of its JSON if that is long.
func cut(value any) any {
	data, err := jsonvalue.Encode(value)
	if err != nil || len(data) <= maxValue {
		return value
	}
	return fault.Cut(string(data), maxValue)
}

type tryInput struct {
	Workflow string         `json:"workflow" doc:"the YAML of a workflow"`
	Params   map[string]any `json:"params,omitempty" doc:"the parameters of the run"`
	Answers  map[string]any `json:"answers,omitempty" doc:"answers by step, as a case has them" example:"{\"status\":{\"clean\":true}}"`
}

// tried is what a run would issue.
type tried struct {
	Valid  bool               `json:"valid" doc:"the workflow has no error"`
	Errors []fault.Diagnostic `json:"errors" doc:"what must be mended before a run can be shown"`
	// Outcome, Reason, Unknown and Steps are those of cases.Dry.
	Outcome string          `json:"outcome,omitempty" doc:"done, failed or blocked if the answers reach the end; else open"`
	Reason  string          `json:"reason,omitempty" doc:"why the run fails or is blocked"`
	Unknown []string        `json:"unknown,omitempty" doc:"the steps that are issued and have no answer"`
	Steps   []cases.DryStep `json:"steps,omitempty" doc:"the steps in their order, with their conditions and branches"`
	More    int             `json:"more,omitempty" doc:"how many steps are left out"`
}

func (a author) try(ctx context.Context, in tryInput) (*tried, error) {
	judged, graph, err := a.judge(ctx, in.Workflow)
	if err != nil {
		return nil, err
	}
	out := &tried{Valid: judged.Valid, Errors: judged.Errors}
	if graph == nil {
		return out, nil
	}
	dry, err := cases.DryRun(graph, in.Params, in.Answers)
	if err != nil {
		return nil, err
	}
	out.Outcome, out.Reason, out.Unknown, out.Steps = dry.Outcome, dry.Reason, first(dry.Unknown, maxShown), first(dry.Steps, maxShown)
	out.More = len(dry.Steps) - len(out.Steps)
	for i := range out.Steps {
		step := &out.Steps[i]
		step.Input = cut(step.Input)
		for k := range step.Branches {
			step.Branches[k].Steps = first(step.Branches[k].Steps, maxFindings)
		}
	}
	return out, nil
}

package cases

import (
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/think/flow"
)

// Dry says what a run would issue: as far as the given answers reach by running it in the
// pure core, and beyond by the conditions as they are written.
type Dry struct {
	Workflow string `json:"workflow"`
	// Outcome is done, failed or blocked if the answers reach the end; else it is open.
	Outcome string `json:"outcome"`
	// Reason says why the run fails or is blocked.
	Reason string `json:"reason,omitempty"`
	// Unknown are the steps that are issued and have no answer.
	Unknown []string  `json:"unknown"`
	Steps   []DryStep `json:"steps"`
}

// The statuses of a step of a Dry beside done, skipped and failed.
const (
	Waits    = "waits"    // it is issued, and its result is not known
	Possible = "possible" // whether and with what it is issued is not known
)

// DryStep is one step of a Dry. Input is what it is issued with, or as it is written where
// that is not known.
type DryStep struct {
	StepID string `json:"step_id"`
	Call   string `json:"call"`
	By     string `json:"by"` // tool, model, person or savant
	Status string `json:"status"`
	Cause  string `json:"cause,omitempty"`
	Input  any    `json:"input,omitempty"`
	// If are the conditions under which it is issued, all of them. Foreach is the list of
	// its loop, Until what ends its rounds, of which there are Rounds at most.
	If      []DryCondition `json:"if,omitempty"`
	Foreach string         `json:"foreach,omitempty"`
	Until   string         `json:"until,omitempty"`
	Rounds  int            `json:"rounds,omitempty"`
	// Branches are both ways on from a step that decides by what is not known.
	Branches []DryBranch `json:"branches,omitempty"`
}

// DryCondition is what must be true of a step before: its condition, or how it ends.
type DryCondition struct {
	Step string `json:"step"`
	That string `json:"that"`
}

// DryBranch is one way on.
type DryBranch struct {
	If string `json:"if"`
	// Steps are what is then issued or, where Skipped, what is not.
	Steps   []string `json:"steps"`
	Skipped bool     `json:"skipped,omitempty"`
	// Then is the effect on the run.
	Then string `json:"then"`
}

// DryRun returns what a run of a workflow would issue. INVALID_PARAMS if the parameters do
// not fit the workflow, or an answer does not fit its step.
func DryRun(graph *flow.Graph, params, answers map[string]any) (*Dry, error) {
	if err := checkAnswers(graph, answers, newReader("answers", nil)); err != nil {
		return nil, err
	}
	bound, err := graph.Workflow.Bind(params)
	if err != nil {
		return nil, err
	}
	d := &dry{graph: graph, answers: answers, params: bound, settled: map[string]bool{}, shapes: map[*flow.Graph]*shape{}}
	if err := d.drive(graph); err != nil {
		return nil, err
	}
	if d.trial.out.Final == nil && d.trial.out.Blocked == nil {
		wide, workflow := *graph, *graph.Workflow // what an unknown result does not hold up is issued, too
		workflow.Limits.Parallel, workflow.Limits.ParallelWritten = flow.MaxParallel, true
		wide.Workflow = &workflow
		if err := d.drive(&wide); err != nil {
			return nil, err
		}
	}
	return d.result(), nil
}

// ReadAnswers reads a file of answers by step, as a case has them. INVALID_PARAMS, with the
// lines, for what does not fit the workflow.
func ReadAnswers(name string, src []byte, graph *flow.Graph) (map[string]any, error) {
	value, written, err := flow.ReadYAMLPlaces(name, src)
	if err != nil {
		return nil, err
	}
	object, is := value.(map[string]any)
	if !is {
		return nil, fault.New(fault.InvalidParams, "%s: expected answers by the id of a step, as in {status: {clean: true}}", name)
	}
	places := fault.Places{"": written[""]}
	for path, at := range written {
		places["answers."+path] = at
	}
	return object, checkAnswers(graph, object, newReader(name, places))
}

func checkAnswers(graph *flow.Graph, answers map[string]any, r *reader) error {
	known := steps(graph)
	for _, id := range ids(answers) {
		r.answer(graph, known, Case{Answers: answers}, id)
	}
	return r.Failure()
}

// dry is a dry run under way.
type dry struct {
	graph           *flow.Graph
	params, answers map[string]any
	trial           *trial
	waits           map[string]flow.Instruction
	settled         map[string]bool
	shapes          map[*flow.Graph]*shape
}

// drive runs a graph until each instruction has no answer.
func (d *dry) drive(graph *flow.Graph) error {
	t := newTrial(new(File), Case{Answers: d.answers}, graph)
	d.trial, d.waits = t, map[string]flow.Instruction{}
	t.run, t.out = graph.Start("dry", d.params, flow.CurrentTerms())
	var refused error
	ended := t.drive(func(open []flow.Instruction) bool {
		at := slices.IndexFunc(open, func(each flow.Instruction) bool { _, waits := d.waits[each.StepID]; return !waits })
		if at < 0 {
			return false
		}
		next := open[at]
		value, why := t.answers.next(next.StepID)
		if why != "" {
			d.waits[next.StepID] = next
			return true
		}
		step, err := t.run.View().Step(next.StepID)
		if err == nil {
			err = t.settle(step, next, value)
		}
		if err != nil {
			refused = fault.New(fault.InvalidParams, "the answer of step %s is refused: %s", next.StepID, fault.From(err).Message())
		}
		return err == nil
	})
	if !ended {
		return fault.New(fault.LimitExceeded, "the run did not end within %d answers", maxEvents)
	}
	return refused
}

func (d *dry) result() *Dry {
	out := &Dry{Workflow: d.graph.Workflow.Name, Outcome: "open", Unknown: []string{}, Steps: []DryStep{}}
	if d.trial.out.Final != nil || d.trial.out.Blocked != nil {
		out.Outcome, out.Reason = d.trial.outcome(), d.trial.reason()
	}
	statuses := d.trial.statuses()
	for _, each := range statuses {
		d.settled[each.ID] = each.Status == flow.Done || each.Status == flow.Skipped || each.Status == flow.Failed
	}
	for _, each := range statuses {
		at, ok := siteOf(d.graph, each.ID)
		if !ok {
			continue
		}
		step := describedStep(each.ID, at.written)
		step.Status, step.Cause, step.Input = string(each.Status), each.Cause, d.trial.inputs[each.ID]
		switch _, waits := d.waits[each.ID]; {
		case waits:
			step.Status = Waits
			out.Unknown = append(out.Unknown, each.ID)
			step.Branches = d.branches(each.ID, at)
		case each.Status == flow.Issued && step.By == bySavant, each.Status == flow.Issued && step.Foreach != "":
			step.Status = Possible // its workflow or its items are under way
			step.Branches = d.branches(each.ID, at)
		case each.Status == flow.Failed:
			step.Cause = each.Code
		case each.Status != flow.Done && each.Status != flow.Skipped:
			d.possible(&step, at)
		}
		out.Steps = append(out.Steps, step)
		if child := at.graph.Child(at.written.ID); child != nil && step.Status == Possible && each.Status != flow.Issued {
			out.Steps = append(out.Steps, d.ahead(child, each.ID+"/")...)
		}
	}
	return out
}

// ahead returns the steps of a workflow that has not begun.
func (d *dry) ahead(graph *flow.Graph, prefix string) (all []DryStep) {
	for _, step := range graph.Workflow.Steps {
		made := describedStep(prefix+step.ID, step)
		d.possible(&made, stepSite{written: step, graph: graph})
		all = append(all, made)
		if child := graph.Child(step.ID); child != nil {
			all = append(all, d.ahead(child, made.StepID+"/")...)
		}
	}
	return all
}

const (
	bySavant = "savant"
	byTool   = "tool"
)

func describedStep(id string, step *flow.Step) DryStep {
	made := DryStep{StepID: id, Call: step.Call, By: byTool}
	switch {
	case step.Person():
		made.By = "person"
	case step.Internal():
		made.By = bySavant
	case step.Call == flow.CallGenerate:
		made.By = "model"
	}
	if _, numbers, item := cutNumbers(id[strings.LastIndexByte(id, '/')+1:], 1); step.Foreach != nil && (!item || numbers == nil) {
		made.Foreach = step.Foreach.Source()
	}
	if step.Rounds > 0 {
		made.Until, made.Rounds = step.Until.Source(), step.Rounds
	}
	return made
}

// possible completes a step that has not been reached.
func (d *dry) possible(step *DryStep, at stepSite) {
	step.Status, step.Cause = Possible, ""
	shape := d.shapeOf(at.graph)
	if input := shape.inputs[at.written.ID]; input != nil {
		step.Input = input
	}
	prefix := step.StepID[:strings.LastIndexByte(step.StepID, '/')+1]
	own := false
	for _, reason := range shape.skips[at.written.ID] {
		if d.settled[prefix+reason.By.ID] {
			continue
		}
		condition := DryCondition{prefix + reason.By.ID, "is done"}
		if !reason.Failed {
			condition.That = reason.By.When.Source()
		}
		own = own || reason.By == at.written
		step.If = append(step.If, condition)
	}
	if at.written.Join == flow.JoinAny && len(at.written.Deps) > 0 {
		step.If = append(step.If, DryCondition{step.StepID, "one of " + strings.Join(idsBelow(prefix, at.written.Deps), ", ") + " is done"})
	}
	if at.written.When != nil && !own && !d.settled[step.StepID] { // that of an item
		step.If = append(step.If, DryCondition{step.StepID, at.written.When.Source()})
	}
	if holder := shape.heldBy[at.written.ID]; holder != "" && !d.settled[prefix+holder] {
		step.If = append(step.If, DryCondition{prefix + holder, "holds"})
	}
	step.Branches = d.branches(step.StepID, at)
}

// shape is what the steps of one workflow wait for.
type shape struct {
	heldBy  map[string]string      // the check that holds a step
	holds   map[string][]string    // the steps that a check holds
	skips   map[string][]flow.Skip // why a step may be skipped
	without map[string][]string    // the steps that are skipped with a step's condition
	unless  map[string][]string    // the steps that are skipped where a step is not done
	inputs  map[string]any         // as they are written
}

func (d *dry) shapeOf(graph *flow.Graph) *shape {
	if known := d.shapes[graph]; known != nil {
		return known
	}
	s := &shape{map[string]string{}, map[string][]string{}, map[string][]flow.Skip{}, map[string][]string{}, map[string][]string{}, map[string]any{}}
	parsed, _ := graph.Workflow.Parsed().(map[string]any)
	written, _ := parsed["steps"].([]any)
	for i, node := range graph.Picture().Nodes {
		if graph.Workflow.Steps[i].Join != flow.JoinDone { // that runs whatever the check says
			s.heldBy[node.ID] = node.HeldBy
			s.holds[node.HeldBy] = append(s.holds[node.HeldBy], node.ID)
		}
		for _, reason := range graph.Skips(node.ID) { // of join: any one alone is none
			if reason.Failed || reason.By.ID == node.ID || graph.SkippedWith(node.ID, reason.By.ID) {
				s.skips[node.ID] = append(s.skips[node.ID], reason)
			}
		}
		for _, reason := range s.skips[node.ID] {
			skipped := s.without
			if reason.Failed {
				skipped = s.unless
			}
			if by := reason.By.ID; !slices.Contains(skipped[by], node.ID) {
				skipped[by] = append(skipped[by], node.ID)
			}
		}
		if i < len(written) {
			object, _ := written[i].(map[string]any)
			s.inputs[node.ID] = object["input_template"]
		}
	}
	d.shapes[graph] = s
	return s
}

// branches returns both ways on from a step that has a condition, or is a check.
func (d *dry) branches(id string, at stepSite) (all []DryBranch) {
	step, shape := at.written, d.shapeOf(at.graph)
	prefix := id[:strings.LastIndexByte(id, '/')+1]
	held, without := idsBelow(prefix, shape.holds[step.ID]), idsBelow(prefix, shape.without[step.ID])
	if _, issued := d.waits[id]; step.When != nil && !issued && len(without) > 0 {
		all = append(all, DryBranch{If: step.When.Source(), Steps: []string{id}, Then: goesOn},
			DryBranch{If: "not (" + step.When.Source() + ")", Steps: without, Skipped: true, Then: goesOn})
	}
	holds, fails := "", ""
	switch {
	case step.Answering() == flow.Decides:
		holds, fails = "a person agrees", "a person declines"
	case step.Call == flow.CallAssert:
		input, _ := shape.inputs[step.ID].(map[string]any)
		that, _ := input["that"].(string)
		holds = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(that), "{{"), "}}"))
		fails = "not (" + holds + ")"
	case step.Rounds > 0:
		holds, fails = step.Until.Source(), "none of "+strconv.Itoa(step.Rounds)+" rounds gives that"
	default:
		return all
	}
	without = held
	if step.OnFailure == flow.Continue {
		without = idsBelow(prefix, shape.unless[step.ID])
	}
	then := map[flow.OnFailure]string{flow.Fail: "the run fails", flow.SkipRest: "the rest is skipped", flow.Continue: goesOn}[step.OnFailure]
	return append(all, DryBranch{If: holds, Steps: held, Then: goesOn}, DryBranch{If: fails, Steps: without, Skipped: true, Then: then})
}

const goesOn = "the run goes on"

// idsBelow returns the ids of steps in the workflow that a prefix leads to.
func idsBelow(prefix string, names []string) []string {
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = prefix + name
	}
	return ids
}

package flow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// Final is the report of a finished run.
type Final struct {
	// Outcome is "done", "failed" or "cancelled".
	Outcome   string
	Summary   string
	Outputs   map[string]any
	Artifacts []FinalArtifact
	// Ran counts the steps that ended done or failed.
	Ran    int
	Failed []Failure
}

// End is the summary; of a failed run only what it counts, because the workflow's own words
// are mostly about success.
func (f *Final) End() string {
	at := strings.LastIndex(f.Summary, " (")
	if f.Outcome != "failed" || at < 0 || !strings.Contains(f.Summary[at:], ": failed, ") {
		return f.Summary
	}
	return strings.TrimSuffix(f.Summary[at+len(" ("):], ")")
}

// FinalArtifact is a value to be kept by its content.
type FinalArtifact struct {
	Name, Type string
	Data       []byte
}

// Failure is one failed step.
type Failure struct {
	Step    string     `json:"step"`
	Code    fault.Code `json:"code"`
	Details string     `json:"details"`
}

// round starts the child workflow of a flow.run unit once.
func (u *unit) round() {
	r := u.run()
	values := map[string]any{}
	if template := u.step().input.field("params"); template != nil {
		rendered, err := template.render(u.node.env(u.item))
		if err != nil {
			r.block(err)
			return
		}
		given, ok := rendered.(map[string]any)
		if !ok {
			r.block(u.mismatch(template, "params must give a map, not "+kind(rendered)))
			return
		}
		values = given
	}
	child := u.node.node().child
	params, err := child.Workflow.Bind(values)
	if err != nil {
		u.fail(fault.From(err))
		return
	}
	prefix := u.id + "/"
	if u.step().Rounds > 0 {
		prefix = u.id + "_" + strconv.Itoa(len(u.rounds())) + "/"
	}
	r.startFrame(child, prefix, params, u)
}

// close ends a frame whose steps are all settled.
func (f *frame) close() {
	if f.closed {
		return
	}
	f.closed = true
	if f.owner == nil {
		f.run.finish()
		return
	}
	u := f.owner
	if f.haltedAbove {
		u.settle(Skipped, f.haltCause, nil, nil)
		return
	}
	if fatal := f.fatal(); fatal != nil {
		failure := fatal.rare().failure
		u.fail(fault.New(failure.Code, "workflow %s failed at step %q: %s", f.graph.Workflow.Name, fatal.id, failure.Details).With(failure.Diagnostics...))
		return
	}
	outputs, problem := f.outputs()
	if problem != nil {
		u.fail(problem)
		return
	}
	data, err := jsonvalue.Encode(outputs)
	if err != nil {
		f.run.block(fault.New(fault.Internal, "%s: encoding outputs: %w", u.id, err))
		return
	}
	u.more().outputs = data
	if u.step().Rounds > 0 && !u.repeatEnded(outputs) {
		return
	}
	u.succeed(outputs)
}

// repeatEnded reports whether a repeat has ended; false means another round, a blocked run or
// a failed step.
func (u *unit) repeatEnded(outputs any) bool {
	env := u.node.env(u.item)
	env.Result = outputs
	yes, err := u.step().untilAt.decide("until", u.step().Until, env)
	switch {
	case err != nil:
		u.run().block(err)
	case yes:
		return true
	case u.frame().haltCause != "" && u.step().Join != JoinDone:
		u.settle(Skipped, u.frame().haltCause, nil, nil)
	case len(u.rounds()) >= u.step().Rounds:
		u.fail(fault.New(fault.RepeatExhausted, "step %q: until did not hold after %d rounds", u.id, len(u.rounds())))
	default:
		u.touch()
		u.round()
	}
	return false
}

// fatal returns the first failed unit that ended the frame, or nil.
func (f *frame) fatal() *unit {
	var first *unit
	for _, u := range f.failed {
		if u.step().OnFailure == Fail && (first == nil || before(u, first) < 0) {
			first = u
		}
	}
	return first
}

// outputs renders the frame's outputs. One that reads what no step produced is
// null.
func (f *frame) outputs() (map[string]any, *fault.Error) {
	outputs := make(map[string]any, len(f.graph.Workflow.Outputs))
	var problem *fault.Error
	for _, output := range f.graph.Workflow.Outputs {
		if f.lacks(output.value.references) && f.reaches(output.value.absent(f.env())) {
			outputs[output.Name] = nil
			continue
		}
		value, err := output.value.render(f.env())
		if err != nil && problem == nil {
			problem = fault.From(err)
		}
		outputs[output.Name] = value
	}
	return outputs, problem
}

func (f *frame) env() expression.Env {
	return expression.Env{Params: f.params, Steps: f, Run: map[string]any{
		"id": f.run.id, "workflow": f.run.graph.Workflow.Name, "version": f.run.graph.Workflow.Version}}
}

// reaches reports whether what lacks found is read, given the capture that an evaluation
// came upon; in the first edition all that is spelled out counts as read.
func (f *frame) reaches(absent string) bool { return absent != "" || !f.graph.readsAsEvaluated() }

// lacks reports whether an expression spells out the hard read of the capture of a step
// that has none.
func (f *frame) lacks(references func(func(expression.Reference, *source))) bool {
	missing := false
	references(func(reference expression.Reference, _ *source) {
		if reference.Root != "state" || reference.Soft {
			return
		}
		if at, ok := f.graph.captures[reference.Name]; ok && !f.nodes[at].has {
			missing = true
		}
	})
	return missing
}

// finish makes the report of the whole run.
func (r *Run) finish() {
	f, w := r.root, r.graph.Workflow
	final := &Final{Outcome: "done", Ran: r.ran, Artifacts: []FinalArtifact{}}
	if f.fatal() != nil {
		final.Outcome = "failed"
	}
	final.Failed = r.failureReport()
	outputs, problem := f.outputs()
	final.Outputs = outputs
	if problem != nil {
		final.fail("outputs", problem)
	}
	for _, artifact := range w.Artifacts {
		kept, problem := f.artifact(artifact)
		if problem != nil {
			final.fail("artifacts."+artifact.Name, problem)
		} else if kept != nil {
			final.Artifacts = append(final.Artifacts, *kept)
		}
	}
	final.Summary = r.summary(final)
	r.final = final
}

func (f *Final) fail(step string, problem *fault.Error) {
	f.Outcome = "failed"
	f.Failed = append(f.Failed, Failure{step, problem.Code, fault.Cut(problem.Message(), 300)})
}

// failureReport lists the failed steps for a report.
func (r *Run) failureReport() []Failure {
	list := []Failure{}
	for _, u := range r.failures() {
		list = append(list, Failure{u.id, u.rare().failure.Code, fault.Cut(u.rare().failure.Details, 300)})
	}
	return list
}

// failures returns every failed unit of every frame in declaration order.
func (r *Run) failures() []*unit {
	var all []*unit
	for _, f := range r.frames() {
		all = append(all, f.failed...)
	}
	slices.SortFunc(all, before)
	return all
}

func (f *frame) artifact(a Artifact) (*FinalArtifact, *fault.Error) {
	missing := f.lacks(func(visit func(expression.Reference, *source)) {
		for _, reference := range a.from.References() {
			visit(reference, a.where)
		}
	})
	if missing && f.reaches(a.from.Absent(f.env())) {
		return nil, nil
	}
	value, err := a.from.Eval(f.env())
	if err != nil {
		return nil, a.where.failure(err)
	}
	if text, ok := value.(string); ok && a.Type != "json" {
		return &FinalArtifact{a.Name, a.Type, []byte(text)}, nil
	}
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return nil, fault.New(fault.Internal, "artifact %q: %w", a.Name, err)
	}
	return &FinalArtifact{a.Name, a.Type, data}, nil
}

// summary renders the workflow's summary. If it is absent or reads missing captures,
// the summary counts the steps. A rendering error is reported in the text and does not
// fail the run. The text always says if no step ran.
func (r *Run) summary(final *Final) string {
	w := r.graph.Workflow
	counted := fmt.Sprintf("%s %s: %s, %d of %d steps ran", w.Name, w.Version, final.Outcome, final.Ran, r.total())
	if len(final.Failed) > 0 {
		counted += fmt.Sprintf(", %d failed", len(final.Failed))
	}
	if w.summary == nil || r.root.lacks(w.summary.references) && r.root.reaches(w.summary.absent(r.root.env())) {
		return counted
	}
	value, err := w.summary.render(r.root.env())
	if err != nil {
		return counted + "; the summary cannot be rendered: " + fault.Cut(fault.From(err).Message(), 300)
	}
	text, ok := value.(string)
	if !ok {
		data, err := jsonvalue.Encode(value)
		if err != nil {
			return counted
		}
		text = string(data)
	}
	if final.Ran == 0 || final.Outcome == "failed" {
		return text + " (" + counted + ")"
	}
	return text
}

// total counts the steps of every frame, a loop's items one by one.
func (r *Run) total() int {
	total := 0
	for _, f := range r.frames() {
		for i := range f.nodes {
			if n := &f.nodes[i]; n.loop() && n.units != nil {
				total += len(n.units)
			} else {
				total++
			}
		}
	}
	return total
}

// ending reads what the finished run reports.
func (p *parser) ending(keys entries) {
	if node := keys.value("outputs"); node != nil {
		if node.Kind != yaml.MappingNode {
			p.add(fault.YAMLSchemaViolation, "outputs", node, "outputs must be a map of names to values")
		} else {
			for i := 0; i+1 < len(node.Content); i += 2 {
				name := node.Content[i].Value
				p.w.Outputs = append(p.w.Outputs, Output{name, p.template(node.Content[i+1], &yamlPath{above: &yamlPath{key: "outputs"}, key: name}, p.scope)})
			}
		}
	}
	if node := keys.value("summary"); node != nil {
		if t := p.template(node, &yamlPath{key: "summary"}, p.scope); t.form == textForm {
			p.w.summary = t
		} else if text, ok := t.literal.(string); ok {
			p.w.summary = &template{literal: text}
		} else {
			p.add(fault.YAMLSchemaViolation, "summary", node, "summary must be text")
		}
	}
	if node := keys.value("artifacts"); node != nil {
		p.artifacts(node)
	}
}

func (p *parser) artifacts(node *yaml.Node) {
	if node.Kind != yaml.SequenceNode {
		p.add(fault.YAMLSchemaViolation, "artifacts", node, "artifacts must be a list of {name, type, from}")
		return
	}
	for i, item := range node.Content {
		at := "artifacts[" + strconv.Itoa(i) + "]"
		keys, ok := p.mapping(item, at, artifactKeys)
		if !ok {
			continue
		}
		a := Artifact{Name: p.required(keys, "name", at, item), Type: "json"}
		if keys.value("type") != nil {
			a.Type = p.choice(keys, "type", at, "json", "text", "markdown")
		}
		if keys.value("from") == nil {
			p.add(fault.YAMLSchemaViolation, at, item, "from is missing: the expression whose value is stored")
			continue
		}
		a.from, a.where = p.compile(keys.value("from"), at+".from", p.scope)
		p.w.Artifacts = append(p.w.Artifacts, a)
	}
}

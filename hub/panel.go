package hub

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"savant/agent/memory"
	"savant/fault"
	"savant/hub/events"
	"savant/internal/jsonvalue"
	"savant/telemetry"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// How much of a value the panel shows, and of one that decided about a step, in bytes.
const (
	panelShown = 16 << 10
	valueShown = 160
)

// panel shows all about a step of a run: why it runs or not, its input, and its
// results.
type panel struct {
	ID, Call, Status, Cause string
	Rationale, File         string
	Line, Attempt           int
	DependsOn               []string
	Why                     []reason
	Issued                  int // the version at which it was issued
	IssuedAt                string
	WaitsFor                string
	Input                   string
	Schema                  string
	Answers                 []answerRow
	Capture                 *capture
	Result                  *capture // the last answer, unless it is a capture
	Models                  []modelCall
	Exchanges               []exchangeView
	Items                   []statusCount
	Units                   []string // the units of a loop that run a workflow
	Unknown                 string   // why there is no such step
}

// reason is one thing that decided about a step.
type reason struct {
	Kind, Expression, Value, Step, Status, Cause, Message string
	Operands                                              []operand
}

// isSingleOperand reports whether the condition is its only operand.
func (c reason) isSingleOperand() bool { return len(c.Operands) == 1 && c.Operands[0].Value == c.Value }

// operand is a value that an expression read.
type operand struct{ Name, Value string }

// answerRow is one answer to a step. Its duration counts from version After, at which
// it was asked for.
type answerRow struct {
	think.Event
	After int
	Took  string
}

// modelCall is one call of a model for a step, as the trace has it.
type modelCall struct {
	Time, Model, Status, Took, Cost string
	PromptTokens, OutputTokens      int
	Cached                          bool
}

// How many of a run's calls of models are looked through, and of how many of a step the
// prompts are shown.
const (
	maxModelCalls = 1000
	maxExchanges  = 3
)

// modelCalls returns the latest calls of models for a run; the index may be a moment behind.
func (h *Hub) modelCalls(run state.Key) ([]events.Event, error) {
	all, err := h.index.Select(run.Run, events.Filter{Types: []string{string(telemetry.LLMCall)}})
	if err != nil {
		return nil, err
	}
	found, err := h.index.Read(all.Places(max(0, all.Len()-maxModelCalls), all.Len()))
	return slices.DeleteFunc(found, func(e events.Event) bool { return e.Workflow != run.Workflow }), err
}

// addModels adds the step's calls of models.
func (p *panel) addModels(ctx context.Context, h *Hub, run state.Key) error {
	if p == nil || p.Call != flow.CallGenerate {
		return nil
	}
	found, err := h.modelCalls(run)
	found = slices.DeleteFunc(found, func(e events.Event) bool { return !isUnitOf(e.StepID, p.ID) })
	for _, each := range found[max(0, len(found)-maxUnits):] {
		p.Models = append(p.Models, modelCallOf(each.Event))
	}
	p.Exchanges = h.exchanges(ctx, run, found[max(0, len(found)-maxExchanges):], memory.Exchange{}, "")
	return err
}

func modelCallOf(e telemetry.Event) modelCall {
	out := modelCall{Time: e.Timestamp, Model: e.Model, Status: e.Status, Took: telemetry.Elapsed(e.DurationMS), PromptTokens: e.PromptTokens, OutputTokens: e.OutputTokens}
	out.Cached, _ = e.Metadata["cache"].(bool)
	if cost, known := e.Metadata["cost"].(float64); known {
		out.Cost = amount(cost)
	}
	return out
}

// statusCount counts the items of a loop with a status.
type statusCount struct {
	Status string
	Count  int
}

// panelOf reads the named step; nil if no step is named.
func (h *Hub) panelOf(r *http.Request, v *think.View, id string) (*panel, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // no step is named
	}
	step, err := v.Step(id)
	if err != nil {
		return &panel{ID: id, Unknown: fault.From(err).Message()}, nil
	}
	explained, err := v.Explain(r.Context(), step)
	if err != nil {
		return nil, err
	}
	p := &panel{ID: id, Call: explained.Call, Status: string(explained.Status), Cause: think.Cause(explained.Cause), Rationale: explained.Rationale,
		File: explained.File, Line: explained.Line, Attempt: explained.Attempt, DependsOn: explained.DependsOn}
	for _, each := range explained.Why {
		p.Why = append(p.Why, h.reason(each))
	}
	if explained.SuccessSchema != nil {
		p.Schema, _ = h.value(jsonvalue.Encoded(explained.SuccessSchema), panelShown)
	}
	p.Issued = step.IssuedAt()
	if next := p.instruction(v); next != nil {
		p.WaitsFor = answererOf(*next)
		p.Input, _ = h.value(jsonvalue.Encoded(next.Input), panelShown)
	}
	p.addItems(v)
	return p, h.addAnswers(r, v, step, p)
}

func (h *Hub) reason(c flow.Condition) reason {
	out := reason{Kind: c.Kind, Expression: c.Expression, Step: c.Step, Status: string(c.Status), Cause: c.Cause, Message: c.Message}
	if code, is := c.Value.(fault.Code); is {
		out.Value = string(code)
	} else if c.Value != nil {
		out.Value = fault.Cut(h.oneLine(c.Value), valueShown)
	}
	for name, value := range c.Operands {
		out.Operands = append(out.Operands, operand{name, h.oneLine(value)})
	}
	slices.SortFunc(out.Operands, func(a, b operand) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// instruction returns the instruction of the step at a version at which it is outstanding,
// or nil.
func (p *panel) instruction(v *think.View) *flow.Instruction {
	all := v.Now().Instructions
	if at := slices.IndexFunc(all, func(each flow.Instruction) bool { return each.StepID == p.ID }); at >= 0 {
		return &all[at]
	}
	return nil
}

// answererOf is who answers an instruction.
func answererOf(next flow.Instruction) string {
	if next.Shown != "" || next.Outcome != "" {
		return "a person"
	}
	return flowWaits(next.Call)
}

// maxInputVersion is up to which version a run is replayed to show the input of a step that
// was answered.
const maxInputVersion = 1000

// addInput adds the input of a step that was answered: the one it was issued with.
func (p *panel) addInput(ctx context.Context, h *Hub, run state.Key) error {
	if p == nil || p.Issued == 0 || p.Issued > maxInputVersion || p.Input != "" || len(p.Answers) == 0 {
		return nil
	}
	return h.options.Think.View(ctx, run, p.Issued, func(v *think.View) error {
		if next := p.instruction(v); next != nil {
			p.Input, _ = h.value(jsonvalue.Encoded(next.Input), panelShown)
		}
		return nil
	})
}

// maxUnits is how many items of a loop the panel offers to open.
const maxUnits = 20

// addItems counts the items of a loop, and lists those that run a workflow.
func (p *panel) addItems(v *think.View) {
	counts := map[flow.Status]int{}
	for step := range v.Steps() {
		if step.ID == p.ID || !isUnitOf(step.ID, p.ID) {
			continue
		}
		counts[step.Status]++
		if p.Call == flow.CallRun && len(p.Units) < maxUnits {
			if _, err := v.Picture(step.ID); err == nil {
				p.Units = append(p.Units, step.ID)
			}
		}
	}
	p.Items = countsOf(counts)
}

// statusOrder is the order of statuses in lists, most urgent first.
func statusOrder() []flow.Status {
	return []flow.Status{flow.Failed, flow.Issued, flow.Ready, flow.Done, flow.Skipped, flow.Conditional, flow.Pending}
}

func countsOf(counts map[flow.Status]int) []statusCount {
	var out []statusCount
	for _, each := range statusOrder() {
		if counts[each] > 0 {
			out = append(out, statusCount{string(each), counts[each]})
		}
	}
	return out
}

// addAnswers reads the answers to the step, and what became of the last.
func (h *Hub) addAnswers(r *http.Request, v *think.View, step flow.Handle, p *panel) error {
	versions := step.Answers()
	after := step.IssuedAt()
	for _, version := range versions {
		p.Answers = append(p.Answers, answerRow{Event: think.Event{Version: version}, After: after})
		after = version // the refusal asks for the next attempt
	}
	p.Answers = p.Answers[max(0, len(versions)-maxUnits):]
	name := step.Capture()
	if raw, err := v.Capture(r.Context(), name); name != "" && err != nil {
		return err
	} else if name != "" && raw != nil {
		p.Capture = &capture{Name: name, Size: len(raw)}
		p.Capture.whole(runOf(r), "capture", name, v.Now().Version)
		p.Capture.Text, p.Capture.Cut = h.value(raw, panelShown)
		return nil
	}
	if len(versions) == 0 {
		return nil
	}
	raw, err := v.Answer(r.Context(), versions[len(versions)-1])
	if err != nil {
		return err
	}
	p.Result = &capture{Size: len(raw)}
	p.Result.whole(runOf(r), "answer", strconv.Itoa(versions[len(versions)-1]), v.Now().Version)
	p.Result.Text, p.Result.Cut = h.value(raw, panelShown)
	return nil
}

// fillTimes adds when the step was issued and answered.
func (p *panel) fillTimes(events map[int]think.Event) {
	if p == nil {
		return
	}
	p.IssuedAt = events[p.Issued].Time
	for i, each := range p.Answers {
		if event, known := events[each.Version]; known {
			p.Answers[i].Event, p.Answers[i].Took = event, between(events, each.After, each.Version)
		}
	}
}

// oneLine returns a value as JSON on one line, redacted.
func (h *Hub) oneLine(value any) string {
	if long, is := value.(flow.Beginning); is {
		return h.options.Redactor.Text(string(long))
	}
	return fault.Cut(string(h.options.Redactor.JSON(jsonvalue.Encoded(value))), captureShown)
}

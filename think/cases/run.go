package cases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/check"
	"savant/think/flow"
)

// Difference is one thing that did not come as a case says.
type Difference struct {
	// Path is where the case says it: "cases[0].expect.outcome".
	Path string `json:"path"`
	Line int    `json:"line"`
	// Expected and Seen are values; Message says what has no value.
	Expected any    `json:"expected,omitempty"`
	Seen     any    `json:"seen,omitempty"`
	Message  string `json:"message,omitempty"`
}

// String says a difference in one line.
func (d Difference) String() string {
	text := d.Path
	if d.Message != "" {
		text += ": " + d.Message
	}
	if d.Expected != nil {
		text += ": expected " + InJSON(d.Expected)
	}
	if d.Seen != nil {
		text += ", seen " + InJSON(d.Seen)
	}
	return text
}

// InJSON is a value on one line.
func InJSON(value any) string {
	encoded, err := jsonvalue.Encode(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return fault.Cut(string(encoded), 2000)
}

// Result is what one case came to. It holds if Differences is empty.
type Result struct {
	Name string `json:"name"`
	Line int    `json:"line"`
	// Status is Passed or Failed.
	Status      string       `json:"status"`
	Differences []Difference `json:"differences"`
	// Reached are the points of the workflow that the case covers.
	Reached Points `json:"-"`
}

// The statuses of a case.
const (
	Passed = "passed"
	Failed = "failed"
)

// maxEvents bounds the events of a case, as limits.steps bounds the steps of a run.
const maxEvents = 100_000

// Run runs one case of a file on its workflow. Equal cases give equal results. An answer is
// held against the step's success_schema, and not against the schema of a tool, so that it
// may have only the fields that matter.
func Run(f *File, c Case, graph *flow.Graph) Result {
	t := newTrial(f, c, graph)
	t.execute()
	if t.run != nil {
		if len(t.result.Differences) == 0 || t.out.Final != nil || t.out.Blocked != nil {
			t.compare()
		}
		t.result.Reached = t.reached()
	}
	if len(t.result.Differences) > 0 {
		t.result.Status = Failed
	}
	return t.result
}

func newTrial(f *File, c Case, graph *flow.Graph) *trial {
	t := &trial{file: f, test: c, graph: graph, answers: newAnswers(graph, c), raw: map[int][]byte{}, inputs: map[string]any{}, refused: map[string]bool{},
		result: Result{Name: c.Name, Line: f.Line(c), Status: Passed, Differences: []Difference{}}}
	if graph.Ruled() && f.rules != nil {
		t.judge = f.rules.Judge(graph)
	}
	return t
}

// execute runs the case to its end; what went wrong with its answers are differences.
func (t *trial) execute() {
	params, err := t.graph.Workflow.Bind(t.test.Params)
	if err != nil {
		t.differs(t.test.path+".params", Difference{Message: fault.From(err).Message()})
		return
	}
	t.params = params
	t.run, t.out = t.graph.Start("case", t.params, flow.CurrentTerms())
	t.run.LeaveHashes()
	if !t.drive(func(open []flow.Instruction) bool { return t.answer(open[0]) }) {
		t.differs(t.test.path, Difference{Message: "the run did not end within " + strconv.Itoa(maxEvents) + " answers"})
	}
	if len(t.result.Differences) > 0 {
		return
	}
	why := ""
	if reason := t.reason(); reason != "" {
		why = ", since " + reason
	}
	for _, path := range t.answers.unused() {
		t.differs(path, Difference{Message: "the run took no such answer" + why})
		why = "" // once is enough
	}
	for _, step := range ids(t.test.Calls) {
		if _, issued := t.inputs[step]; !issued {
			t.differs(t.test.path+".calls."+step, Difference{Message: "no step of this id was issued, so that these calls were not made"})
		}
	}
}

// trial is the run of one case.
type trial struct {
	file    *File
	test    Case
	graph   *flow.Graph
	answers *answers
	judge   check.Judge // nil: there are no rules
	refused map[string]bool
	result  Result
	params  map[string]any

	run *flow.Run
	out flow.Outcome
	// raw has the answers by the version that they made: the run asks for long ones again.
	raw map[int][]byte
	// issued are the ids in the order in which they were issued first, inputs their inputs.
	issued []string
	inputs map[string]any
	held   int // the size of the inputs
}

// maxHeld bounds the inputs of the steps of a case, in bytes.
const maxHeld = 128 << 20

// sizeOf is about how many bytes a value takes.
func sizeOf(value any) (size int) {
	switch value := value.(type) {
	case string:
		return len(value)
	case []any:
		for _, each := range value {
			size += 16 + sizeOf(each)
		}
	case map[string]any:
		for key, each := range value {
			size += 16 + len(key) + sizeOf(each)
		}
	}
	return size
}

func (t *trial) differs(path string, d Difference) {
	d.Path, d.Line = path, t.file.line(path)
	t.result.Differences = append(t.result.Differences, d)
}

// drive hands the open instructions to answer until the run has ended or answer reports that
// it can go on no more; it reports whether that came within maxEvents.
func (t *trial) drive(answer func(open []flow.Instruction) bool) bool {
	for range maxEvents {
		t.provide()
		for _, next := range t.out.Instructions {
			if _, seen := t.inputs[next.StepID]; !seen {
				t.issued = append(t.issued, next.StepID)
				t.inputs[next.StepID] = next.Input
				t.held += sizeOf(next.Input)
			}
		}
		if t.held > maxHeld {
			t.differs(t.test.path, Difference{Message: "the inputs of its steps have more than " + strconv.Itoa(maxHeld>>20) + " MB"})
			return true
		}
		if t.out.Final != nil || t.out.Blocked != nil || len(t.out.Instructions) == 0 || !answer(t.out.Instructions) {
			return true
		}
	}
	return false
}

// provide gives the run the long answers that it asks for.
func (t *trial) provide() {
	for len(t.out.Missing) > 0 {
		for _, ref := range t.out.Missing {
			if err := t.run.Provide(ref, t.raw[ref.Version]); err != nil {
				t.differs(t.test.path, Difference{Message: fault.From(err).Message()})
				return
			}
		}
		t.out = t.run.Proceed()
	}
}

// answer gives an instruction its answer, and reports whether the run can go on.
func (t *trial) answer(next flow.Instruction) bool {
	path := t.test.path + ".answers"
	if !t.callsWithin(next) {
		return false
	}
	refused := t.refusal(next)
	value, why := t.answers.next(next.StepID)
	switch {
	case refused != nil && why == "" && !isRefusal(value):
		t.differs(path+"."+next.StepID, Difference{Message: "rules refuse this call, so that it has no answer: " + fault.From(refused).Message()})
		return false
	case refused != nil:
		value = failed(refused, next.Backoff != "")
	case why != "":
		t.differs(path, Difference{Message: fmt.Sprintf("step %s is reached: %s", next.StepID, why), Seen: instructionOf(next)})
		return false
	}
	if refused == nil && t.judges(next) {
		object, _ := value.(map[string]any)
		t.judge.Ended(object["isError"] != true, value)
	}
	step, err := t.run.View().Step(next.StepID)
	if err == nil {
		err = t.settle(step, next, value)
	}
	for again, waits := t.othersAgree(next); err == nil && waits; again, waits = t.othersAgree(next) {
		err = t.settle(step, again, value)
	}
	if err != nil {
		coded := fault.From(err)
		t.differs(path+"."+next.StepID, Difference{Message: "the answer is refused: " + coded.Message(), Seen: string(coded.Code)})
	}
	return err == nil
}

// othersAgree returns the instruction again if other persons have to agree, too, and the
// case has one answer for all of them.
func (t *trial) othersAgree(before flow.Instruction) (next flow.Instruction, waits bool) {
	at := slices.IndexFunc(t.out.Instructions, func(each flow.Instruction) bool { return each.StepID == before.StepID })
	if at < 0 || len(t.out.Instructions[at].Agreed) == 0 || !t.answers.alone(before.StepID) {
		return next, false
	}
	return t.out.Instructions[at], true
}

// personFor names who answers: the by of the answer, else the next of those who may.
func personFor(next flow.Instruction, value any) (person string, answer any) {
	if object, is := value.(map[string]any); is && flow.AnsweringOf(next.Call) == flow.Decides {
		if by, named := object["by"].(string); named {
			object = maps.Clone(object)
			delete(object, "by")
			return by, object
		}
	}
	if next.Approval != nil && len(next.Approval.Approvers) > len(next.Agreed) {
		for _, each := range next.Approval.Approvers {
			if !slices.Contains(next.Agreed, each) {
				return each, value
			}
		}
	}
	return "person " + strconv.Itoa(len(next.Agreed)+1), value
}

func (t *trial) settle(step flow.Handle, next flow.Instruction, value any) error {
	person, value := personFor(next, value)
	raw, err := jsonvalue.Encode(value)
	if err != nil {
		return fault.New(fault.InvalidParams, "the answer is not JSON: %w", err)
	}
	answer := flow.Answer{Attempt: next.Attempt, Result: value, Digest: jsonvalue.HexSum(raw), By: person, Witness: flow.WitnessSelf}
	switch {
	case next.Shown != "":
		answer.Person, answer.Shown, answer.Witness = true, next.Shown, flow.WitnessPerson
	case next.Outcome == flow.OutcomeUnknown && next.Witness != "":
		answer.Person, answer.Shown, answer.Witness = true, next.Stated, flow.WitnessPerson
	case next.Witness != "": // the case speaks for the gateway
		answer.Witness = flow.WitnessGateway
	}
	out, err := t.run.Settle(step, answer)
	if err != nil {
		return err
	}
	t.out = out
	t.provide()
	t.raw[t.out.Version] = raw
	return nil
}

// instructionOf is what is shown of an instruction without an answer.
func instructionOf(next flow.Instruction) map[string]any {
	shown := map[string]any{"step_id": next.StepID, "call": next.Call, "input": next.Input}
	if next.Attempt > 1 {
		shown["attempt"] = next.Attempt
	}
	if len(next.Diagnostics) > 0 {
		shown["refused"] = next.Diagnostics[0].Message
	}
	return shown
}

// statuses returns the steps of the run by their ids, in order.
func (t *trial) statuses() (all []flow.StepStatus) {
	return slices.Collect(t.run.View().Steps())
}

// callOf returns the step of an id as it is written, and whether the id is that of a loop
// with items.
func (t *trial) callOf(id string) (step *flow.Step, loop bool) {
	at, ok := siteOf(t.graph, id)
	if !ok {
		return nil, false
	}
	return at.written, at.written.Foreach != nil && len(at.numbers) > 0 && at.numbers[len(at.numbers)-1] < 0
}

// captures returns the captures of the run by name.
func (t *trial) captures() map[string]any {
	all := map[string]any{}
	for name := range t.run.View().Vars(flow.Whole) {
		if value, err := jsonvalue.Decode(t.capture(name)); err == nil {
			all[name] = value
		}
	}
	return all
}

// capture returns the JSON of one capture.
func (t *trial) capture(name string) []byte {
	for {
		data, refs := t.run.View().Var(name)
		if len(refs) == 0 {
			return data
		}
		for _, ref := range refs {
			if t.run.Provide(ref, t.raw[ref.Version]) != nil {
				return nil
			}
		}
	}
}

// rounds returns how many rounds each repeat had, by its id.
func (t *trial) rounds() map[string]any {
	counts := map[string]any{}
	for _, each := range t.statuses() {
		for at := strings.IndexByte(each.ID, '/'); at >= 0; {
			t.count(counts, each.ID[:at])
			next := strings.IndexByte(each.ID[at+1:], '/')
			if next < 0 {
				break
			}
			at += next + 1
		}
	}
	return counts
}

// count takes the round in the id of a repeat into account: "fix_2" is the third of fix.
func (t *trial) count(counts map[string]any, id string) {
	p, ok := workflowOf(t.graph, id)
	if !ok || len(p.numbers) == 0 {
		return
	}
	at, found := siteOf(t.graph, p.step)
	if !found || at.written.Rounds == 0 {
		return
	}
	if base, numbers, cut := cutNumbers(id, 1); cut {
		before, _ := counts[base].(int)
		counts[base] = max(before, numbers[0]+1)
	}
}

// ids returns the ids of a set, sorted.
func ids[V any](set map[string]V) []string { return slices.Sorted(maps.Keys(set)) }

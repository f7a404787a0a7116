package think

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/state"
)

// Difference is a record that a replay did not reproduce.
type Difference struct {
	Version  int    `json:"version"`
	Step     string `json:"step,omitempty"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// comparison compares the facts of a record, each of which follows from the records before
// it, with those of a replay. It keeps the first that differs.
type comparison struct {
	now    flow.Outcome
	record state.Record
	found  *Difference
}

func (c *comparison) fact(what string, recorded, replayed any) {
	if c.found == nil && !reflect.DeepEqual(recorded, replayed) && text(recorded) != text(replayed) {
		c.found = &Difference{c.record.Version, EventOf(c.record).Step, what + fault.Cut(text(recorded), 400), what + fault.Cut(text(replayed), 400)}
	}
}

// text shows one side of a fact.
func text(value any) string {
	if text, is := value.(string); is {
		return text
	}
	return string(jsonvalue.Encoded(value))
}

// compare compares a replayed run with a record: the state hash, and every other
// recorded fact that follows from the run. It ignores facts that depend on the time
// (times, drift, warnings) and texts that differ between versions of Savant (rationale,
// notes, details, summaries).
func (e *Engine) compare(ctx context.Context, now flow.Outcome, decoded Decoded) (*Difference, error) {
	record, data := decoded.Record, decoded.data
	c := comparison{now: now, record: record}
	if c.fact("", record.State, now.Hash); c.found != nil {
		return c.found, nil
	}
	if isAside(record) {
		return asideDifference(now, record), nil
	}
	if decoded.err != nil {
		c.fact("", "a reply", fault.From(decoded.err).Message())
		return c.found, nil
	}
	answer := data.Reply.Reply
	if answer == nil {
		c.fact("", "a reply", "there is none")
		return c.found, nil
	}
	c.around()
	c.instructions(answer)
	c.change(answer.State)
	c.end(answer)
	if c.found == nil && (record.Kind == kindResult || record.Kind == kindPerson) {
		if err := c.answer(ctx, e, data.answerData); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

// asideDifference compares a record that changes no state with the run.
func asideDifference(now flow.Outcome, record state.Record) *Difference {
	switch {
	case record.Kind == KindRefused && refusalOf(record) == nil:
		return &Difference{record.Version, "", "a refusal", "it cannot be read"}
	case record.Status != string(now.Status):
		return &Difference{record.Version, "", "status " + record.Status, "status " + string(now.Status)}
	}
	return nil
}

// around compares the fields around a record's data. Replay applies an unknown kind as an
// answer, so an unknown kind is a difference.
func (c *comparison) around() {
	known := c.record.Kind
	if !slices.Contains([]string{kindPlan, kindResult, kindPerson, KindCancelled, KindReset}, known) {
		known = "plan, result, person, cancelled or reset"
	}
	c.fact("kind ", c.record.Kind, known)
	if c.record.Status != "" {
		c.fact("status ", c.record.Status, string(c.now.Status))
	}
}

// answer compares the digests of an answer.
func (c *comparison) answer(ctx context.Context, e *Engine, data answerData) error {
	given, err := e.submitted(ctx, c.record, data)
	if err != nil {
		return err
	}
	digest, err := jsonvalue.Digest(given.Result)
	if err != nil {
		return fault.From(err)
	}
	if data.Value == sameDigest {
		data.Value = data.Digest
	}
	kind := kindResult
	if data.Person {
		kind = kindPerson
	}
	c.fact("digest ", data.Digest, digest)
	c.fact("digest of the capture ", data.Value, c.now.Captured)
	c.fact("size of the capture ", data.Size, c.now.Size)
	c.fact("kind ", c.record.Kind, kind)
	return nil
}

// instructions compares the issued instructions.
func (c *comparison) instructions(recorded *Reply) {
	now, was := c.now, recorded.Instructions
	if first := recorded.Instruction; len(was) == 0 && first != nil {
		was = []Instruction{*first}
	}
	c.fact("done ", recorded.Done, now.Final != nil)
	if now.Final == nil {
		shown := min(len(recorded.Ready), len(now.Ready)) // a long reply was shortened
		c.fact("ready ", strings.Join(recorded.Ready, " "), strings.Join(now.Ready[:shown], " "))
		c.fact("steps ready ", len(recorded.Ready)+recorded.ReadyMore, now.ReadyTotal)
	}
	waits, issued := []string{}, slices.Clone(recorded.Outstanding)
	for _, each := range was {
		issued = append(issued, each.StepID)
	}
	for _, next := range now.Instructions {
		waits = append(waits, next.StepID)
		at := slices.IndexFunc(was, func(each Instruction) bool { return each.StepID == next.StepID })
		if at >= 0 {
			c.fact("", was[at].essence(), wire(next).essence())
		}
	}
	slices.Sort(waits)
	slices.Sort(issued)
	c.fact("outstanding ", strings.Join(issued, " "), strings.Join(waits, " "))
}

// essence is the content of an instruction without its explanations.
func (i Instruction) essence() Instruction {
	return Instruction{StepID: i.StepID, Input: i.Input, CaptureAs: i.CaptureAs, Attempt: i.Attempt, Timeout: i.Timeout, Witness: i.Witness, Allow: i.Allow, Done: i.Done, Call: i.Call}
}

// change compares the change of state in a reply.
func (c *comparison) change(was delta) {
	now, change := c.now, c.now.Change
	c.fact("run ", was.RunID, now.RunID)
	c.fact("version ", was.Version, now.Version)
	c.fact("status ", was.Status, now.Status)
	c.fact("changed steps ", len(was.Steps)+was.StepsMore, len(change.Steps))
	c.fact("changed captures ", len(was.Vars)+was.VarsMore, len(change.Vars))
	for _, id := range slices.Sorted(maps.Keys(was.Steps)) {
		recorded := was.Steps[id]
		is := flow.StepStatus{}
		if at := slices.IndexFunc(change.Steps, func(s flow.StepStatus) bool { return s.ID == id }); at >= 0 {
			is = change.Steps[at]
		}
		recorded.Details, is.Details, is.ID = "", "", ""
		c.fact("step "+id+" ", recorded, is)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Vars)) {
		recorded := was.Vars[name]
		at := slices.IndexFunc(change.Vars, func(v flow.Var) bool { return v.Name == name })
		if at < 0 || !shows(now, string(recorded), change.Vars[at]) {
			c.fact("capture "+name+" ", string(recorded), "another")
		}
	}
}

// shows reports whether a reply shows a capture, in full or shortened.
func shows(now flow.Outcome, recorded string, is flow.Var) bool {
	return slices.ContainsFunc([]int{maxVar, maxVarShort, maxVarShortest}, func(size int) bool {
		short, long := previewOf(now, is, size)
		return recorded == string(shorten(now, is, size)) || long && recorded == string(short.earlier(is.Value))
	})
}

// end compares the final result of a run.
func (c *comparison) end(was *Reply) {
	now, final := c.now, c.now.Final
	if final == nil {
		c.fact("outcome ", was.Outcome, "")
		c.fact("outputs ", string(was.Outputs), "")
		return
	}
	var is Reply
	is.finish(now, nil)
	if whole := jsonvalue.Encoded(final.Outputs); len(whole) > maxOutputs && string(was.Outputs) == string(outputsPreview(now, whole).earlier(whole)) {
		is.Outputs = was.Outputs
	}
	c.fact("outcome ", was.Outcome, is.Outcome)
	c.fact("outputs ", string(was.Outputs), string(is.Outputs))
	c.fact("steps that ran ", was.Ran, &final.Ran)
	for i, recorded := range was.Failed { // may be shortened, like the artifacts
		failure := flow.Failure{}
		if i < len(final.Failed) {
			failure = final.Failed[i]
		}
		c.fact("failed ", recorded.Step+" "+string(recorded.Code), failure.Step+" "+string(failure.Code))
	}
	for i, recorded := range was.Artifacts { // a long reply was shortened
		var made any
		if i < len(final.Artifacts) {
			made = artifactOf(final.Artifacts[i])
		}
		c.fact("artifact ", recorded, made)
	}
}

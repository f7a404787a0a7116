package think

import (
	"context"
	"maps"
	"slices"
	"strconv"
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

// A fact is one thing that a record says and that follows from the records
// before it.
type fact struct{ what, recorded, replayed string }

// compare compares a replayed run with a record: the state hash, and every other
// recorded fact that follows from the run. It ignores facts that depend on the time
// (times, drift, warnings) and texts that differ between versions of Savant (rationale,
// notes, details, summaries).
func (e *Engine) compare(ctx context.Context, now flow.Outcome, record state.Record) (*Difference, error) {
	differs := func(recorded, replayed string) (*Difference, error) {
		return &Difference{record.Version, EventOf(record).Step, recorded, replayed}, nil
	}
	if got := now.Hash; got != record.State {
		return differs(record.State, got)
	}
	if isAside(record) {
		return asideDifference(now, record), nil
	}
	answer, err := replyOf(record)
	if err != nil {
		return differs("a reply", fault.From(err).Message())
	}
	facts := slices.Concat(recordFacts(now, record), instructionFacts(now, answer.Reply), stateFacts(now, answer.Reply.State), endFacts(now, answer.Reply))
	if record.Kind == kindResult || record.Kind == kindPerson {
		answered, err := e.answerFacts(ctx, now, record)
		if err != nil {
			return nil, err
		}
		facts = append(facts, answered...)
	}
	for _, each := range facts {
		if each.recorded != each.replayed {
			return differs(each.what+fault.Cut(each.recorded, 400), each.what+fault.Cut(each.replayed, 400))
		}
	}
	return nil, nil
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

// recordFacts compares the fields around a record's data. Replay applies an unknown
// kind as an answer, so an unknown kind is a difference.
func recordFacts(now flow.Outcome, record state.Record) []fact {
	known := record.Kind
	if !slices.Contains([]string{kindPlan, kindResult, kindPerson, KindCancelled, KindReset}, known) {
		known = "plan, result, person, cancelled or reset"
	}
	facts := []fact{{"kind ", record.Kind, known}}
	if record.Status != "" {
		facts = append(facts, fact{"status ", record.Status, string(now.Status)})
	}
	return facts
}

// answerFacts compares the digests of an answer.
func (e *Engine) answerFacts(ctx context.Context, now flow.Outcome, record state.Record) ([]fact, error) {
	var data answerData
	if err := decodeData(record, &data); err != nil {
		return nil, err
	}
	given, err := e.recorded(ctx, record)
	if err != nil {
		return nil, err
	}
	digest, err := jsonvalue.Digest(given.Result)
	if err != nil {
		return nil, fault.From(err)
	}
	if data.Value == sameDigest {
		data.Value = data.Digest
	}
	kind := kindResult
	if data.Person {
		kind = kindPerson
	}
	return []fact{
		{"digest ", data.Digest, digest},
		{"digest of the capture ", data.Value, now.Captured},
		{"size of the capture ", strconv.Itoa(data.Size), strconv.Itoa(now.Size)},
		{"kind ", record.Kind, kind},
	}, nil
}

// instructionFacts compares the issued instructions.
func instructionFacts(now flow.Outcome, recorded *Reply) []fact {
	was := recorded.Instructions
	if first := recorded.Instruction; len(was) == 0 && first != nil {
		was = []Instruction{*first}
	}
	facts := []fact{{"done ", strconv.FormatBool(recorded.Done), strconv.FormatBool(now.Final != nil)}}
	if now.Final == nil {
		shown := min(len(recorded.Ready), len(now.Ready)) // a long reply was shortened
		facts = append(facts, fact{"ready ", strings.Join(recorded.Ready, " "), strings.Join(now.Ready[:shown], " ")},
			fact{"steps ready ", strconv.Itoa(len(recorded.Ready) + recorded.ReadyMore), strconv.Itoa(now.ReadyTotal)})
	}
	waits, issued := []string{}, slices.Clone(recorded.Outstanding)
	for _, each := range was {
		issued = append(issued, each.StepID)
	}
	for _, next := range now.Instructions {
		waits = append(waits, next.StepID)
		at := slices.IndexFunc(was, func(each Instruction) bool { return each.StepID == next.StepID })
		if at >= 0 {
			facts = append(facts, fact{"", was[at].essence(), wire(next).essence()})
		}
	}
	slices.Sort(waits)
	slices.Sort(issued)
	return append(facts, fact{"outstanding ", strings.Join(issued, " "), strings.Join(waits, " ")})
}

// essence is the content of an instruction without its explanations.
func (i Instruction) essence() string {
	rest := Instruction{CaptureAs: i.CaptureAs, Attempt: i.Attempt, Timeout: i.Timeout, Witness: i.Witness, Allow: i.Allow, Done: i.Done, Call: i.Call}
	return i.StepID + " " + string(i.Input) + " " + string(jsonvalue.Encoded(rest))
}

// stateFacts compares the change of state in a reply.
func stateFacts(now flow.Outcome, was delta) []fact {
	facts := []fact{
		{"run ", was.RunID, now.RunID},
		{"version ", strconv.Itoa(was.Version), strconv.Itoa(now.Version)},
		{"status ", string(was.Status), string(now.Status)},
	}
	change := now.Change
	facts = append(facts,
		fact{"changed steps ", strconv.Itoa(len(was.Steps) + was.StepsMore), strconv.Itoa(len(change.Steps))},
		fact{"changed captures ", strconv.Itoa(len(was.Vars) + was.VarsMore), strconv.Itoa(len(change.Vars))})
	for _, id := range slices.Sorted(maps.Keys(was.Steps)) {
		recorded := was.Steps[id]
		is := flow.StepStatus{}
		if at := slices.IndexFunc(change.Steps, func(s flow.StepStatus) bool { return s.ID == id }); at >= 0 {
			is = change.Steps[at]
		}
		recorded.Details, is.Details = "", ""
		facts = append(facts, fact{"step " + id + " ", string(jsonvalue.Encoded(recorded)), string(jsonvalue.Encoded(is))})
	}
	for _, name := range slices.Sorted(maps.Keys(was.Vars)) {
		recorded := was.Vars[name]
		at := slices.IndexFunc(change.Vars, func(v flow.Var) bool { return v.Name == name })
		if at < 0 || !shows(now, string(recorded), change.Vars[at]) {
			facts = append(facts, fact{"capture " + name + " ", string(recorded), "another"})
		}
	}
	return facts
}

// shows reports whether a reply shows a capture, in full or shortened.
func shows(now flow.Outcome, recorded string, is flow.Var) bool {
	return slices.ContainsFunc([]int{maxVar, maxVarShort, maxVarShortest}, func(size int) bool {
		short, long := previewOf(now, is, size)
		return recorded == string(shorten(now, is, size)) || long && recorded == string(short.earlier(is.Value))
	})
}

// endFacts compares the final result of a run.
func endFacts(now flow.Outcome, was *Reply) []fact {
	final := now.Final
	if final == nil {
		return []fact{{"outcome ", was.Outcome, ""}, {"outputs ", string(was.Outputs), ""}}
	}
	var is Reply
	is.finish(now, nil)
	if whole := jsonvalue.Encoded(final.Outputs); len(whole) > maxOutputs && string(was.Outputs) == string(outputsPreview(now, whole).earlier(whole)) {
		is.Outputs = was.Outputs
	}
	ran := ""
	if was.Ran != nil {
		ran = strconv.Itoa(*was.Ran)
	}
	facts := []fact{
		{"outcome ", was.Outcome, is.Outcome},
		{"outputs ", string(was.Outputs), string(is.Outputs)},
		{"steps that ran ", ran, strconv.Itoa(final.Ran)},
	}
	for i, recorded := range was.Failed { // may be shortened, like the artifacts
		made := flow.Failure{}
		if i < len(final.Failed) {
			made = final.Failed[i]
		}
		facts = append(facts, fact{"failed ", recorded.Step + " " + string(recorded.Code), made.Step + " " + string(made.Code)})
	}
	for i, recorded := range was.Artifacts { // a long reply was shortened
		made := ""
		if i < len(final.Artifacts) {
			made = string(jsonvalue.Encoded(artifactOf(final.Artifacts[i])))
		}
		facts = append(facts, fact{"artifact ", string(jsonvalue.Encoded(recorded)), made})
	}
	return facts
}

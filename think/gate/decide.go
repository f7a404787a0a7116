package gate

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/internal/redact"
)

// Decide decides whether a tool may be called while runs of the session are open.
func Decide(runs []Run, own Own, e Event) Decision {
	open := slices.DeleteFunc(slices.Clone(runs), func(run Run) bool { return !run.Open() })
	if e.Kind != BeforeTool || len(open) == 0 || searches(e) {
		return Decision{}
	}
	if name, is := own.ofThink(e.Tool); is {
		return think(open, name, e)
	}
	for _, run := range open {
		if run.passes(own, e) {
			return Decision{}
		}
	}
	return refuse(open[len(open)-1], own, e)
}

// passes reports whether an instruction of the run lets a call through.
func (r Run) passes(own Own, e Event) bool {
	for _, issued := range r.Issued {
		switch {
		case issued.Call == callGenerate, issued.Outcome != "":
			if issued.allows(own, e) {
				return true
			}
		case issued.person():
			if own.reads(e) {
				return true
			}
		case own.Named(e.Tool, issued.Call) && sameInput(issued.Input, e.Input):
			return true
		}
	}
	return false
}

// AllowRead is the word of `allow:` for reading within the project, and the default of
// a step.
const AllowRead = "read"

// allows reports whether a step that the model answers lets a call through.
func (i Issued) allows(own Own, e Event) bool {
	allowed := []string{AllowRead}
	if i.Allow != nil {
		allowed = *i.Allow
	}
	return slices.ContainsFunc(allowed, func(each string) bool {
		if each == AllowRead {
			return own.reads(e)
		}
		return slices.ContainsFunc(own.spellings(e.Tool), func(spelt string) bool { return pattern.Matches(dotted(each), dotted(spelt)) })
	})
}

// added are arguments that some clients add to every call.
var added = []string{"wait_for_previous", "task_progress"}

// sameInput compares what was issued with what is called, as JSON values.
func sameInput(issued, called json.RawMessage) bool {
	want, got := object(issued), object(called)
	if want == nil || got == nil {
		return false
	}
	for _, name := range added {
		if _, wanted := want[name]; !wanted {
			delete(got, name)
		}
	}
	one, err := jsonvalue.Digest(want)
	other, otherErr := jsonvalue.Digest(got)
	return err == nil && otherErr == nil && one == other
}

// object decodes arguments, which some clients send as text; nil if invalid.
func object(raw json.RawMessage) map[string]any {
	if text := strings.TrimSpace(string(raw)); text == "" || text == "null" {
		return map[string]any{}
	}
	value, err := jsonvalue.Decode(raw)
	if text, isText := value.(string); isText && err == nil {
		value, err = jsonvalue.Decode([]byte(text))
	}
	members, _ := value.(map[string]any)
	if err != nil {
		return nil
	}
	return members
}

// think decides on a tool of Think: all pass but those that would end the gate.
func think(open []Run, name string, e Event) Decision {
	run := open[len(open)-1]
	if name == resetting && discards(object(e.Input)) {
		return Decision{Verdict: Refuse, Why: RunDiscarded, Workflow: run.Workflow, Run: run.ID,
			Reason: "Refused: only a person may delete the open run: savant state delete " + run.ID + ". " + run.next()}
	}
	return Decision{}
}

// discards reports whether think.reset would move a run to the trash.
func discards(input map[string]any) bool {
	text := func(name string) string { value, _ := input[name].(string); return value }
	return input == nil || text("checkpoint") == "" && text("save") == ""
}

// refuse explains why a call is refused, and what to do.
func refuse(run Run, own Own, e Event) Decision {
	d := Decision{Verdict: Refuse, Why: NotIssued, Workflow: run.Workflow, Run: run.ID}
	what := shortName(e.Tool) + " is not the issued call."
	if len(run.Issued) > 0 {
		d.Step = run.Issued[0].Step
	}
	switch {
	case slices.ContainsFunc(run.Issued, func(i Issued) bool { return i.Outcome != "" && own.Named(e.Tool, i.Call) }):
		d.Why, what = NotAllowed, shortName(e.Tool)+" must not be called again: its last call may have had an effect."
	case slices.ContainsFunc(run.Issued, func(i Issued) bool { return own.Named(e.Tool, i.Call) }):
		d.Why, what = OtherInput, shortName(e.Tool)+" is the issued tool, with another input."
	case run.Waits():
		d.Why, what = PersonAsked, shortName(e.Tool)+" has to wait: a person is asked."
	case len(run.Issued) > 0 && !slices.ContainsFunc(run.Issued, func(i Issued) bool { return i.Call != callGenerate }):
		d.Why, what = NotAllowed, shortName(e.Tool)+" is not allowed while you answer step "+d.Step+"."
	}
	d.Reason = "Refused: " + what + " " + run.next() + " " + run.release()
	return d
}

func shortName(tool string) string { return fault.Cut(tool, 120) }

// maxShown bounds what a reason shows of an input, and maxNamed how many instructions
// it names.
const (
	maxShown = 1500
	maxNamed = 3
)

// next describes what a run waits for.
func (r Run) next() string {
	at := "Run " + r.ID + " of " + r.Workflow
	if len(r.Issued) == 0 {
		return at + " is open: call think.next or think.explain with run_id " + r.ID + " to see what it waits for."
	}
	var steps []string
	for i, issued := range r.Issued {
		if i == maxNamed {
			steps = append(steps, "and others: think.explain shows them")
			break
		}
		steps = append(steps, issued.does(r.ID))
	}
	return at + " stands at " + strings.Join(steps, "; ") + "."
}

// does describes what an instruction asks for.
func (i Issued) does(run string) string {
	switch {
	case i.person():
		return "step " + i.Step + ", which a person answers: end your turn; they answer in the client's form or with savant approve " + run + " " + i.Step
	case i.Outcome != "":
		return "step " + i.Step + ": find out whether the last call of " + i.Call + " had an effect, and say it with think.next; meanwhile " + i.allowed()
	case i.Call == callGenerate:
		return "step " + i.Step + ": answer it yourself with think.next; meanwhile " + i.allowed()
	}
	return "step " + i.Step + ": call " + i.Call + " with exactly " + shown(i.Input) + ", then think.next with its result"
}

// allowed lists what the model may call while it answers.
func (i Issued) allowed() string {
	switch {
	case i.Allow == nil:
		return "only reading within the project is allowed"
	case len(*i.Allow) == 0:
		return "no tool is allowed"
	}
	return "these tools are allowed: " + fault.Cut(strings.Join(*i.Allow, ", "), 300)
}

// shown is an input as a reason may show it: without secrets, and not too long.
func shown(input json.RawMessage) string {
	if len(input) == 0 {
		return "{}"
	}
	return fault.Cut(string(redact.Shapes().JSON(input)), maxShown)
}

func (r Run) release() string {
	return "A person can end this gate: savant hook release " + r.ID + "."
}

// Stops counts the consecutive held ends of turn without a new record of the run.
type Stops struct {
	Progress int `json:"progress"`
	Held     int `json:"held"`
}

// maxHeldStops is how many ends are held in a row that brought nothing.
const maxHeldStops = 2

// End decides whether the model's turn may end. It is held while a run is open that the
// model can continue, up to a limit. stops are the counts of each run, by index; End
// returns the updated counts.
func End(runs []Run, stops []Stops) (Decision, []Stops) {
	stops = slices.Clone(stops)
	var held Decision
	for i, run := range runs {
		if stops[i].Progress != run.Progress {
			stops[i] = Stops{Progress: run.Progress}
		}
		if !run.Open() || run.Waits() || stops[i].Held >= maxHeldStops {
			continue
		}
		stops[i].Held++
		if held.Verdict == Pass {
			held = Decision{Verdict: Hold, Why: NotIssued, Workflow: run.Workflow, Run: run.ID,
				Reason: "The run is not finished. " + run.next() + " Go on until think.next answers done. " + run.release()}
		}
	}
	return held, stops
}

// Failed is the decision where the gate could not decide while a run may be open: no
// tool passes, and the turn may end, since nothing would bound holding it.
func Failed(kind Kind, cause error) Decision {
	if kind != BeforeTool {
		return Decision{}
	}
	return Decision{Verdict: Refuse, Why: GateFailed, Reason: "Refused: Savant's gate could not decide, and a run of this session may be open: " +
		fault.From(cause).Message() + ". Tell the person. They can end the gate: savant hook release."}
}

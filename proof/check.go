package proof

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/think/flow"
	"savant/think/library"
)

// Demand is what a change asks of its proof.
type Demand struct {
	// Commit is the commit that a proof must be about.
	Commit string
	// Workflow is the workflow that must have been followed; "" for any.
	Workflow string
	Required []Requirement
	// Source has the workflows of a trusted place, such as the base branch; nil compares none.
	Source Sources
}

// Sources knows the workflows of a trusted place.
type Sources interface {
	// Text returns a workflow's source, "" where it is not there.
	Text(name, file string) (string, error)
}

// Requirement is a step that must be known, by one of some grades.
type Requirement struct {
	Step   string
	Grades []Grade
}

// Known are the grades that a required step may have unless others are named: nobody has
// to take the model's word.
var Known = []Grade{Gateway, Hook, Person, Engine}

// ParseRequirement reads "step" or "step=grade".
func ParseRequirement(text string) (Requirement, bool) {
	step, grade, named := strings.Cut(text, "=")
	if !named {
		return Requirement{step, Known}, step != ""
	}
	return Requirement{step, []Grade{Grade(grade)}}, step != "" && slices.Contains(Grades, Grade(grade))
}

// The codes of what a proof lacks.
const (
	Refused         fault.Code = "PROOF_REFUSED"
	NotCovered      fault.Code = "NOT_COVERED"
	OtherWorkflow   fault.Code = "OTHER_WORKFLOW"
	NotDone         fault.Code = "NOT_DONE"
	NotKnown        fault.Code = "NOT_KNOWN"
	Stale           fault.Code = "STALE"
	WorkflowChanged fault.Code = "WORKFLOW_CHANGED"
)

func lacks(code fault.Code, format string, args ...any) fault.Diagnostic {
	return fault.Diagnostic{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Check returns what a verified proof lacks.
func (d Demand) Check(report Report) (found []fault.Diagnostic, err error) {
	say := func(code fault.Code, format string, args ...any) { found = append(found, lacks(code, format, args...)) }
	if report.Reason != nil || report.Statement == nil {
		say(Refused, "%s: %s", report.Reason.Code, report.Reason.Message)
		return found, nil
	}
	s := report.Statement
	if seen, stated := s.Commits(); d.Commit != seen && d.Commit != stated {
		about := strings.TrimSpace(seen + " " + stated)
		say(NotCovered, "the proof is about %s, not %s", cmp.Or(about, "no commit (savant proof RUN --commit SHA states one)"), d.Commit)
	}
	run := s.Predicate.Run
	if d.Workflow != "" && run.Workflow != d.Workflow {
		say(OtherWorkflow, "the run followed %s, not %s", run.Workflow, d.Workflow)
	}
	if run.Status != "done" && (run.Workflow != AgentRun || run.Status != "ok") {
		say(NotDone, "the run is %s", run.Status)
	}
	places, unread := s.places()
	if len(d.Required) > 0 && unread != nil { // what its steps write is then not known
		say(Refused, "%s", fault.From(unread).Message())
	}
	for _, each := range d.Required {
		found = append(found, each.check(places)...)
	}
	if d.Source == nil {
		return found, nil
	}
	pins, texts := s.entries[0].Pins, s.Predicate.texts()
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		switch text, err := d.Source.Text(name, pins[name].File); {
		case err != nil:
			return nil, err
		case text == "":
			say(WorkflowChanged, "the base has no workflow %s in %s", name, pins[name].File)
		case withoutReturns(text) != withoutReturns(texts[pins[name].Digest]):
			say(WorkflowChanged, "the workflow %s is not the one of the base", name)
		}
	}
	return found, nil
}

// withoutReturns is a text with the ends of lines that git keeps, whatever a checkout has.
func withoutReturns(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// check checks that a step, or each of its rounds that counts, is known and not older than
// the last other step that writes.
func (r Requirement) check(places []place) (found []fault.Diagnostic) {
	any := false
	for _, each := range places {
		if each.claim.Step != r.Step && (each.path != r.Step || each.repeated(places)) {
			continue
		}
		any = true
		if !slices.Contains(r.Grades, each.claim.Grade) {
			found = append(found, lacks(NotKnown, "step %s is %s, and has to be one of %v", each.claim.Step, each.claim.Grade, r.Grades))
		}
		last := Claim{}
		for _, other := range places {
			if other.writes && other.path != each.path && other.claim.Version > last.Version {
				last = other.claim
			}
		}
		if each.claim.Version > 0 && each.claim.Version < last.Version {
			found = append(found, lacks(Stale, "step %s was answered in record %d, and %s changed something in record %d", each.claim.Step, each.claim.Version, last.Step, last.Version))
		}
	}
	if !any {
		found = append(found, lacks(NotKnown, "the run has no step %s", r.Step))
	}
	return found
}

// place is where the workflows of a run have the step of a claim: fix_1/edit is edit in the
// child of fix, in the round 1 of its repeat.
type place struct {
	claim Claim
	// path is fix/edit. repeat is the path with the items of loops and without the rounds of
	// repeats, which are in rounds.
	path, repeat string
	rounds       []int
	writes       bool
}

// repeated reports whether a later round of a repeat takes the place's worth away.
func (p place) repeated(places []place) bool {
	return slices.ContainsFunc(places, func(other place) bool {
		return other.repeat == p.repeat && slices.Compare(other.rounds, p.rounds) > 0
	})
}

// places reads of each claim where its step is. The texts of a statement that was verified
// are those of its run; an error says that one of them cannot be read.
func (s *Statement) places() (found []place, err error) {
	p, workflows, plan := &s.Predicate, map[string]*flow.Workflow{}, s.entries[0]
	texts, schemas := p.texts(), []byte("{}") // of a run without schemas
	if plan.Schemas != "" {
		schemas = []byte(texts[plan.Schemas])
	}
	set, err := library.ReadNamed(schemas)
	for name, pin := range plan.Pins {
		if err == nil {
			workflows[name], err = flow.Parse(pin.File, []byte(texts[pin.Digest]), set)
		}
	}
	for _, each := range p.Claims {
		found = append(found, placeOf(each, workflows, p.Run.Workflow))
	}
	return found, err
}

func placeOf(claim Claim, workflows map[string]*flow.Workflow, in string) place {
	found := place{claim: claim}
	for part := range strings.SplitSeq(claim.Step, "/") {
		step := &flow.Step{}
		if workflow := workflows[in]; workflow != nil {
			for _, each := range workflow.Steps {
				if isRound(each.ID, part) && len(each.ID) > len(step.ID) {
					step = each
				}
			}
		}
		id := cmp.Or(step.ID, part)
		items := part[len(id):]
		if at := strings.LastIndexByte(items, '_'); step.Rounds > 0 && at >= 0 {
			round, _ := strconv.Atoi(items[at+1:]) // isRound says that it is one
			found.rounds, items = append(found.rounds, round), items[:at]
		}
		found.path, found.repeat = path.Join(found.path, id), path.Join(found.repeat, id+items)
		found.writes, in = step.Effect == "write", step.Child
	}
	return found
}

// isRound reports whether a part of a claim's step is a step, or a round of it, as test_2
// is of test; test2 is another step.
func isRound(step, claimed string) bool {
	rest, ok := strings.CutPrefix(claimed, step)
	return ok && (rest == "" || rest[0] == '_' && strings.Trim(rest, "_0123456789") == "")
}

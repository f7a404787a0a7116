package proof

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Demand is what a change asks of its proof.
type Demand struct {
	// Commit is the commit that a proof must be about.
	Commit string
	// Workflow is the workflow that must have been followed; "" for any.
	Workflow string
	Required []Requirement
	// Source returns the digest of a workflow's file where it is trusted, such as the base
	// branch; nil compares none.
	Source Sources
}

// Sources knows the workflows of a trusted place.
type Sources interface {
	// Digest returns the SHA-256 of a workflow's source, "" where it is not there.
	Digest(name, file string) (string, error)
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

// Complaint is why a proof does not do.
type Complaint struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of complaints.
const (
	Refused         = "PROOF_REFUSED"
	NotCovered      = "NOT_COVERED"
	OtherWorkflow   = "OTHER_WORKFLOW"
	NotDone         = "NOT_DONE"
	NotKnown        = "NOT_KNOWN"
	Stale           = "STALE"
	WorkflowChanged = "WORKFLOW_CHANGED"
)

// Check returns what a verified proof lacks.
func (d Demand) Check(report Report) (found []Complaint, err error) {
	say := func(code, format string, args ...any) {
		found = append(found, Complaint{code, fmt.Sprintf(format, args...)})
	}
	if report.Reason != nil || report.Statement == nil {
		say(Refused, "%s: %s", report.Reason.Code, report.Reason.Message)
		return found, nil
	}
	s := report.Statement
	if seen, stated := s.Commits(); d.Commit != seen && d.Commit != stated {
		say(NotCovered, "the proof is about the commit %q, not %s", cmp.Or(stated, seen), d.Commit)
	}
	run := s.Predicate.Run
	if d.Workflow != "" && run.Workflow != d.Workflow {
		say(OtherWorkflow, "the run followed %s, not %s", run.Workflow, d.Workflow)
	}
	if run.Status != "done" && (run.Workflow != AgentRun || run.Status != "ok") {
		say(NotDone, "the run is %s", run.Status)
	}
	for _, each := range d.Required {
		found = append(found, each.check(s)...)
	}
	if d.Source == nil {
		return found, nil
	}
	for _, each := range s.Predicate.Sources {
		if each.Name == "" {
			continue
		}
		digest, err := d.Source.Digest(each.Name, each.File)
		if err != nil {
			return nil, err
		}
		if digest != each.Digest {
			say(WorkflowChanged, "the workflow %s is not the one of the base", each.Name)
		}
	}
	return found, nil
}

// check checks that a step, or each of its rounds, is known and not older than the last
// step that writes.
func (r Requirement) check(s *Statement) (found []Complaint) {
	written, by := lastWrite(s)
	any := false
	for _, claim := range s.Predicate.Claims {
		if !isRound(r.Step, claim.Step) {
			continue
		}
		any = true
		if !slices.Contains(r.Grades, claim.Grade) {
			found = append(found, Complaint{NotKnown, fmt.Sprintf("step %s is %s, and has to be one of %v", claim.Step, claim.Grade, r.Grades)})
		}
		if claim.Version > 0 && claim.Version < written && !isRound(r.Step, by) {
			found = append(found, Complaint{Stale, fmt.Sprintf("step %s was answered in record %d, and %s changed something in record %d", claim.Step, claim.Version, by, written)})
		}
	}
	if !any {
		found = append(found, Complaint{NotKnown, fmt.Sprintf("the run has no step %s", r.Step)})
	}
	return found
}

// isRound reports whether a claim is of a step, or of a round of it, as test_2 is of test;
// test2 is another step.
func isRound(step, claimed string) bool {
	rest, ok := strings.CutPrefix(claimed, step)
	return ok && (rest == "" || rest[0] == '_' && strings.Trim(rest, "_0123456789") == "")
}

// lastWrite returns the last record that answers a step which writes, and the step.
func lastWrite(s *Statement) (version int, step string) {
	for _, node := range s.Predicate.Graph {
		for _, claim := range s.Predicate.Claims {
			if node.Writes && isRound(node.ID, claim.Step) && claim.Version > version {
				version, step = claim.Version, claim.Step
			}
		}
	}
	return version, step
}

package cases

import (
	"encoding/json"
	"strings"

	"savant/fault"
	"savant/schemas"
	"savant/think/flow"
)

// judges reports whether rules judge a step: its tool is called.
func (t *trial) judges(next flow.Instruction) bool {
	if t.judge == nil {
		return false
	}
	at, ok := siteOf(t.graph, next.StepID)
	return ok && describedStep(next.StepID, at.written).By == byTool
}

// refusal returns why rules refuse the call of a step, or nil.
func (t *trial) refusal(next flow.Instruction) error {
	if !t.judges(next) {
		return nil
	}
	err := t.judge.Permit(t.follows(), next.Call, next.Input)
	t.refused[next.StepID] = err != nil
	return err
}

// code is why a step failed: for the run, a refusal by a rule is a call that failed.
func (t *trial) code(of flow.StepStatus) string {
	if t.refused[of.ID] {
		return string(fault.RuleRefused)
	}
	return of.Code
}

// follows returns the workflows with rules that the run follows now.
func (t *trial) follows() []flow.Ruling {
	reads := map[string][]string{}
	for _, each := range t.graph.Workflows() {
		if each.Ruled {
			reads[each.Digest] = t.file.rules.Reads(each)
		}
	}
	for {
		found, refs := t.run.View().Rulings(reads)
		for _, ref := range refs {
			if t.run.Provide(ref, t.raw[ref.Version]) != nil {
				return found
			}
		}
		if len(refs) == 0 {
			return found
		}
	}
}

// callsWithin makes the calls that a case has for the time in which a step is answered, and
// reports whether rules refuse those that they are said to refuse.
func (t *trial) callsWithin(next flow.Instruction) bool {
	if next.Attempt > 1 {
		return true
	}
	for _, each := range t.test.Calls[next.StepID] {
		var refused error
		if t.judge != nil {
			if refused = t.judge.Permit(t.follows(), each.Tool, each.Input); refused == nil {
				t.judge.Ended(!each.Failed, each.Result)
			}
		}
		switch {
		case refused != nil && !each.Refused:
			t.differs(each.path, Difference{Message: "rules refuse this call: " + fault.From(refused).Message()})
		case refused == nil && each.Refused:
			t.differs(each.path, Difference{Message: "rules do not refuse this call"})
		default:
			continue
		}
		return false
	}
	return true
}

// failed is the refusal of a call as its result, to a driver that does not wait: no attempt
// after it can be judged otherwise.
func failed(err error, waits bool) any {
	failure := fault.From(err)
	if !waits {
		failure = failure.Final(fault.RuleRefused)
	}
	return schemas.FailedCall(failure)
}

// isRefusal reports whether an answer is the refusal by a rule, as a recorded run has it.
func isRefusal(answer any) bool {
	text, err := json.Marshal(answer)
	return err == nil && strings.Contains(string(text), string(fault.RuleRefused))
}

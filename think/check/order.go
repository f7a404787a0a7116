package check

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
	"savant/think/flow"
)

// maxOrdered bounds the dependencies of a workflow that order looks at.
const maxOrdered = 10_000

// order warns of dependencies that a step does not notice to be skipped. A written join
// says what the author wants.
func (c *checker) order(step *flow.Step) {
	if step.JoinWritten {
		return
	}
	for i, id := range step.Deps {
		if c.ordered++; c.ordered > maxOrdered {
			return
		}
		reasons := slices.DeleteFunc(c.graph.Skips(id), func(reason flow.Skip) bool { return sameCondition(step, reason) })
		if len(reasons) == 0 || c.graph.SkippedWith(step.ID, id) {
			continue
		}
		path := step.Path() + ".deps"
		if item := path + "[" + strconv.Itoa(i) + "]"; c.layout().Value(item) != nil {
			path = item
		}
		c.atValue(fault.YAMLSchemaViolation, warning, path, 0, "%s can be skipped (%s), and this step then runs all the same: write join: success if it needs %s done, join: all if it does not",
			id, reasonOf(id, reasons[0]), id)
	}
}

// reasonOf says why a step can be skipped.
func reasonOf(id string, reason flow.Skip) string {
	by := ""
	if reason.By.ID != id {
		by = reason.By.ID + ": "
	}
	if reason.Failed {
		return by + "on_failure: continue"
	}
	return fmt.Sprintf("%swhen %s", by, fault.Cut(reason.By.When.Source(), 120))
}

// sameCondition reports whether a step's own condition is false whenever the condition
// of a reason is.
func sameCondition(step *flow.Step, reason flow.Skip) bool {
	return step.When != nil && follows(factsOf(step.When), reason, nil)
}

// follows reports whether facts say that the condition of a reason held. typeOf tells the types
// of what it compares; nil where none is known.
func follows(facts []fact, reason flow.Skip, typeOf func(ast.Node) *Type) bool {
	if reason.Failed {
		return false
	}
	when, err := reason.By.When.Parse()
	return err == nil && followsFrom(facts, when, true, typeOf)
}

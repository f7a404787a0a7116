package think_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"savant/think/flow"
)

// oracle says from the final statuses of a run whether each step of the root
// was settled as docs/language.md says, knowing nothing of how that came about.
type oracle struct {
	t     *rapid.T
	model []model
	steps map[string]flow.StepStatus
}

func (o *oracle) check() {
	for _, s := range o.model {
		status := o.steps[s.id]
		if status.Status == flow.Skipped {
			o.skipped(s, status.Cause)
			continue
		}
		if status.Status != flow.Done && status.Status != flow.Failed {
			o.t.Fatalf("%s is %s at the end", s.id, status.Status)
		}
		if cause := o.mustSkip(s); cause != "" {
			o.t.Fatalf("%s is %s, and should have been skipped: %s", s.id, status.Status, cause)
		}
	}
}

// mustSkip returns why a step cannot run after what came before it, or "".
func (o *oracle) mustSkip(s model) string {
	if s.join != "done" && slices.ContainsFunc(s.deps, o.bad) {
		return "upstream_failed"
	}
	if s.join == "success" && slices.ContainsFunc(s.deps, func(id string) bool { return o.steps[id].Status != flow.Done }) {
		return "dependency_not_done"
	}
	if s.join == "any" && len(s.deps) > 0 && !slices.ContainsFunc(s.deps, func(id string) bool { return o.steps[id].Status == flow.Done }) {
		return "no_dependency_done"
	}
	for _, capture := range s.hard {
		from := o.owner(capture)
		_, expanded := o.steps[from+"_0"] // a loop that stopped has what was done
		if o.steps[from].Status == flow.Skipped && !expanded || o.bad(from) {
			return "missing_data"
		}
	}
	return ""
}

// bad says whether a step failed for good, or was skipped for one that did.
func (o *oracle) bad(id string) bool {
	status := o.steps[id]
	if strings.HasPrefix(status.Cause, "upstream_failed:") {
		return true
	}
	at := slices.IndexFunc(o.model, func(s model) bool { return s.id == id })
	return status.Status == flow.Failed && o.model[at].onFailure == "fail"
}

func (o *oracle) owner(capture string) string { return "s" + strings.TrimPrefix(capture, "c") }

func (o *oracle) skipped(s model, cause string) {
	kind, _, _ := strings.Cut(cause, ":")
	fine := true
	switch kind {
	case "when":
	case "upstream_failed":
		fine = o.mustSkip(s) == kind || s.join != "done" && slices.ContainsFunc(o.model, func(other model) bool { return other.barrier && o.bad(other.id) })
	case "dependency_not_done", "no_dependency_done", "missing_data":
		fine = o.mustSkip(s) == kind
	case "run_failed":
		fine = s.join != "done" && slices.ContainsFunc(o.model, func(other model) bool {
			return other.onFailure == "fail" && o.steps[other.id].Status == flow.Failed
		})
	case "skip_rest":
		fine = s.join != "done" && slices.ContainsFunc(o.model, func(other model) bool {
			return other.onFailure == "skip_rest" && o.steps[other.id].Status == flow.Failed
		})
	default:
		fine = false
	}
	if !fine {
		o.t.Fatalf("%s is skipped for %q, which is not so", s.id, cause)
	}
}

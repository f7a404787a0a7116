package sessions

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/rules"
	"savant/think"
	"savant/think/check"
	"savant/think/flow"
)

// Workflows reads the rules of workflows. It implements think.Rules.
type Workflows struct {
	// Tools are what the rules are checked against.
	Tools rules.Tools

	mutex  sync.Mutex
	parsed map[string]parsedFile // by the workflow's digest and file
}

type parsedFile struct {
	file *rules.File
	err  error
}

// maxParsed bounds the files that are kept; all go when it is reached.
const maxParsed = 256

func (w *Workflows) parse(of *flow.Workflow) (*rules.File, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	found, known := w.parsed[nameOf(of)]
	if !known {
		found.file, found.err = rules.ParseWorkflow(of.File, of.Source)
		if w.parsed == nil || len(w.parsed) >= maxParsed {
			w.parsed = map[string]parsedFile{}
		}
		w.parsed[nameOf(of)] = found
	}
	return found.file, found.err
}

// Check implements think.Rules.
func (w *Workflows) Check(of *flow.Workflow) []fault.Diagnostic {
	file, err := w.parse(of)
	if err != nil {
		return fault.DiagnosticsOf(of.File, err)
	}
	return rules.Check(rules.New(file), w.Tools)
}

// Reads implements think.Rules.
func (w *Workflows) Reads(of *flow.Workflow) []string {
	file, err := w.parse(of)
	if err != nil { // such a workflow is not planned
		return nil
	}
	return file.Reads()
}

// Judge implements think.Rules.
func (w *Workflows) Judge(graph *flow.Graph) check.Judge {
	var files []*rules.File
	for _, each := range graph.Workflows() {
		if file, err := w.parse(each); err == nil && file != nil {
			files = append(files, file)
		}
	}
	set := rules.New(files...)
	return &judge{set: set, history: rules.NewHistory(set)}
}

// judge implements check.Judge.
type judge struct {
	set     *rules.Set
	history *rules.History
	made    *rules.Made
}

// Permit implements check.Judge.
func (j *judge) Permit(follows []flow.Ruling, tool string, input any) error {
	args, _ := input.(map[string]any)
	call := rules.Call{Tool: tool, Input: args, Witness: "gateway"}
	for _, each := range follows {
		call.Runs = append(call.Runs, runOf(each, each.Workflow.Name))
	}
	verdict := rules.Decide(j.set, j.history, call)
	if verdict.Decision == rules.Refuse {
		j.history.Refuse(call)
		return verdict.Fault()
	}
	j.made = j.history.Reserve(call)
	return nil
}

// Ended implements check.Judge.
func (j *judge) Ended(ok bool, result any) {
	j.history.Settle(j.made, rules.OutcomeOf(ok), result, "")
}

// runOf is a workflow under way, as rules see it.
func runOf(of flow.Ruling, run string) rules.Run {
	return rules.Run{Digest: of.Workflow.Digest, ID: run + "/" + of.Unit, Params: of.Params, State: of.State}
}

// Demands implements think.Rules.
func (w *Workflows) Demands(of *flow.Workflow) string {
	file, err := w.parse(of)
	if err != nil {
		return ""
	}
	notes := make([]string, len(file.Rules))
	for i, rule := range file.Rules {
		notes[i] = noteOf(rule) + " before " + strings.Join(rule.Before, ", ")
	}
	return fault.Cut("While this run is open, rules of "+of.Name+" hold for your calls: "+strings.Join(notes, "; "), maxNote) + "."
}

// maxRead bounds what the rules of a run read of it, in bytes: it is recorded with each call.
const maxRead = 64 << 10

// holding returns the rules that hold for a call, and the runs that bring some of them.
func (k *Keeper) holding(ctx context.Context, call engines.Call) (*rules.Set, []rules.Run, error) {
	var found []think.Ruling
	if k.options.Rulings != nil {
		var err error
		if found, err = k.options.Rulings.Rulings(ctx, call); err != nil {
			return rules.New(), nil, err
		}
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	err := k.load()
	if err == nil {
		err = k.take(found)
	}
	if err != nil {
		return k.set, nil, err
	}
	runs := make([]rules.Run, len(found))
	for i, each := range found {
		runs[i] = runOf(each.Ruling, each.Run.String())
		if data, err := jsonvalue.Encode(runs[i]); err != nil || len(data) > maxRead {
			return k.set, nil, fault.New(fault.RuleRefused, "the rules of run %s read more than %d bytes of its params and state", each.Run, maxRead)
		}
	}
	return k.set, runs, nil
}

// maxWorkflows bounds the workflows whose rules are loaded; the others go when there are
// more.
const maxWorkflows = 100

// take makes the rules of workflows hold beside those of the folder.
func (k *Keeper) take(found []think.Ruling) error {
	if len(found) == 0 {
		return nil
	}
	before, all := k.workflows, maps.Clone(k.workflows)
	if len(all) > maxWorkflows {
		clear(all)
	}
	for _, each := range found {
		all[nameOf(each.Workflow)] = string(each.Workflow.Source)
	}
	if maps.Equal(before, all) {
		return nil
	}
	k.workflows = all
	err := k.combine()
	if err != nil {
		k.workflows = before
	}
	return err
}

// holds refuses a call whose runs have rules that are no longer loaded: other calls took
// their place.
func (k *Keeper) holds(runs []rules.Run) error {
	for _, run := range runs {
		if !slices.ContainsFunc(k.set.Files(), func(each *rules.File) bool { return each.Digest == run.Digest }) {
			return fault.New(fault.RuleRefused, "the rules of run %s were not loaded: make the call again", run.ID)
		}
	}
	return nil
}

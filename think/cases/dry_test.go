package cases_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/cases"
)

// statuses are the steps of a dry run by their status.
func statuses(made *cases.Dry) map[string]string {
	all := map[string]string{}
	for _, each := range made.Steps {
		all[each.StepID] = each.Status
	}
	return all
}

func stepNamed(t *testing.T, made *cases.Dry, id string) cases.DryStep {
	t.Helper()
	for _, each := range made.Steps {
		if each.StepID == id {
			return each
		}
	}
	require.Fail(t, "no step "+id)
	return cases.DryStep{}
}

// Without answers the first step is issued, and both ways on from a check are shown; with
// answers the run goes as far as they reach.
func TestADryRunShowsBothWays(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	params := map[string]any{"version": "1.4.0"}
	made, err := cases.DryRun(graph, params, nil)
	require.NoError(t, err)
	require.Equal(t, "open", made.Outcome)
	require.Equal(t, []string{"status"}, made.Unknown)
	require.Equal(t, map[string]string{"status": cases.Waits, "clean": cases.Possible, "tests": cases.Possible, "approve": cases.Possible, "tag": cases.Possible}, statuses(made))
	clean := stepNamed(t, made, "clean")
	require.Equal(t, []cases.DryBranch{{If: "tree.clean", Steps: []string{"tests", "approve"}, Then: "the run goes on"},
		{If: "not (tree.clean)", Steps: []string{"tests", "approve"}, Skipped: true, Then: "the run fails"}}, clean.Branches)
	require.Equal(t, []cases.DryCondition{{Step: "clean", That: "holds"}}, stepNamed(t, made, "tests").If)
	require.Equal(t, map[string]any{"name": "v{{ params.version }}"}, stepNamed(t, made, "tag").Input, "as it is written")

	made, err = cases.DryRun(graph, params, map[string]any{"status": map[string]any{"clean": true}, "tests": 1})
	require.NoError(t, err)
	require.Equal(t, []string{"approve"}, made.Unknown)
	require.Equal(t, map[string]any{"message": "Release 1.4.0?"}, stepNamed(t, made, "approve").Input, "as it is issued")
	require.Equal(t, "a person declines", stepNamed(t, made, "approve").Branches[1].If)

	made, err = cases.DryRun(graph, params, map[string]any{"status": map[string]any{"clean": false}})
	require.NoError(t, err)
	require.Equal(t, "failed", made.Outcome)
	require.Equal(t, "failed", stepNamed(t, made, "clean").Status)
	require.Equal(t, "skipped", stepNamed(t, made, "tag").Status)
}

// Conditions, loops, rounds and workflows below are shown where nothing is known, and what
// an unknown result does not hold up is issued.
func TestADryRunOfConditionsAndLoops(t *testing.T) {
	graph := graphOf(t, map[string]string{
		"main": `
steps:
  - {id: ask, call: llm.generate, input_template: {task: t}, capture_as: asked}
  - {id: other, call: tool.other}
  - {id: more, when: asked.more, call: tool.more, capture_as: found}
  - {id: use, call: tool.use, input_template: {x: "{{ found.x }}"}}
  - {id: each, foreach: asked.list, as: n, call: tool.each, input_template: {n: "{{ n }}"}}
  - {id: fix, deps: [ask], call: flow.run, repeat: {until: "result.ok", max: 3}, input_template: {workflow: fixing}}
  - {id: last, join: done, deps: [fix], call: tool.last}
`,
		"fixing": "\nsteps:\n  - {id: patch, call: tool.patch, capture_as: patched}\noutputs: {ok: \"{{ patched.ok }}\"}\n"})
	made, err := cases.DryRun(graph, nil, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"ask", "other"}, made.Unknown)
	require.Equal(t, []cases.DryCondition{{Step: "more", That: "asked.more"}}, stepNamed(t, made, "use").If, "it needs what more gives")
	more := stepNamed(t, made, "more")
	require.Equal(t, cases.DryBranch{If: "not (asked.more)", Steps: []string{"more", "use"}, Skipped: true, Then: "the run goes on"}, more.Branches[1])
	require.Equal(t, "asked.list", stepNamed(t, made, "each").Foreach)
	fix := stepNamed(t, made, "fix")
	require.Equal(t, "result.ok", fix.Until)
	require.Equal(t, "the run fails", fix.Branches[1].Then)
	require.Equal(t, cases.Possible, stepNamed(t, made, "fix/patch").Status)
	require.Empty(t, stepNamed(t, made, "last").If)

	answers := map[string]any{"ask": map[string]any{"more": false, "list": []any{"a", "b"}}, "other": 1, "each_0": 1}
	made, err = cases.DryRun(graph, nil, answers)
	require.NoError(t, err)
	require.Equal(t, []string{"each_1", "fix_0/patch"}, made.Unknown)
	require.Equal(t, "skipped", stepNamed(t, made, "use").Status)
	require.Equal(t, map[string]any{"n": "b"}, stepNamed(t, made, "each_1").Input)
	require.Equal(t, "result.ok", stepNamed(t, made, "fix").Branches[0].If)
}

// Wrong parameters and answers are told.
func TestADryRunRefusesWhatDoesNotFit(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	_, err := cases.DryRun(graph, nil, nil)
	require.ErrorIs(t, err, fault.InvalidParams)
	_, err = cases.DryRun(graph, map[string]any{"version": "1"}, map[string]any{"statsu": 1})
	require.ErrorContains(t, err, `no step is named "statsu", did you mean "status"?`)
	_, err = cases.DryRun(graph, map[string]any{"version": "1"}, map[string]any{"clean": 1})
	require.ErrorContains(t, err, "by itself")
	_, err = cases.ReadAnswers("answers.yaml", []byte("status: {clean: true}\ntgs: 1\n"), graph)
	require.ErrorContains(t, err, "answers.yaml:2:1: answers.tgs: no step")
	_, err = cases.ReadAnswers("answers.yaml", []byte("[1]"), graph)
	require.ErrorContains(t, err, "expected answers by the id of a step")
	answers, err := cases.ReadAnswers("answers.json", []byte(`{"status": {"clean": true}}`), graph)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"status": map[string]any{"clean": true}}, answers)
}

// A step of join: any needs one of the steps before it, whichever; a run that cannot go on
// says why.
func TestADryRunOfAlternatives(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": `
steps:
  - {id: list, call: tool.list, capture_as: list}
  - {id: each, foreach: list.items, as: n, call: tool.each, input_template: {n: "{{ n }}"}}
  - {id: yes, when: list.ok, call: tool.yes}
  - {id: no, when: not list.ok, call: tool.no}
  - {id: end, join: any, deps: [yes, no], call: tool.end}
  - {id: below, join: success, deps: [yes], call: tool.below}
`})
	made, err := cases.DryRun(graph, nil, nil)
	require.NoError(t, err)
	require.Equal(t, []cases.DryCondition{{Step: "end", That: "one of yes, no is done"}}, stepNamed(t, made, "end").If)
	require.Equal(t, cases.DryCondition{Step: "yes", That: "list.ok"}, stepNamed(t, made, "below").If[0])
	require.Equal(t, []string{"yes", "below"}, stepNamed(t, made, "yes").Branches[1].Steps, "what is not issued then")

	made, err = cases.DryRun(graph, nil, map[string]any{"list": map[string]any{"items": 5, "ok": true}})
	require.NoError(t, err)
	require.Equal(t, "blocked", made.Outcome)
	require.Contains(t, made.Reason, "foreach must give a list")
}

// Where a run goes on without a check, what needs its success is skipped, and the rest is not.
func TestADryRunOfACheckThatMayFail(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": `
steps:
  - {id: ask, call: llm.generate, input_template: {task: t}, capture_as: asked}
  - {id: fine, call: flow.assert, input_template: {that: "{{ asked.fine }}", message: m}, on_failure: continue}
  - {id: strict, deps: [fine], join: success, call: tool.strict}
  - {id: anyhow, deps: [fine], call: tool.anyhow}
`})
	made, err := cases.DryRun(graph, nil, nil)
	require.NoError(t, err)
	require.Equal(t, cases.DryBranch{If: "not (asked.fine)", Steps: []string{"strict"}, Skipped: true, Then: "the run goes on"}, stepNamed(t, made, "fine").Branches[1])
}

package adopt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/adopt"
	"savant/fault"
	"savant/think/flow"
)

func read(t *testing.T, name, text string) *adopt.Draft {
	t.Helper()
	draft, err := adopt.Read(name, []byte(text), flow.ReadForeignYAML)
	require.NoError(t, err)
	return draft
}

// edges returns the dependencies of a draft as "from to", sorted.
func edges(draft *adopt.Draft) (found []string) {
	for _, step := range draft.Steps {
		for _, dep := range step.Deps {
			found = append(found, dep+" "+step.ID)
		}
	}
	slices.Sort(found)
	return found
}

// step returns a step by its id.
func step(t *testing.T, draft *adopt.Draft, id string) *adopt.Step {
	t.Helper()
	at := slices.IndexFunc(draft.Steps, func(each *adopt.Step) bool { return each.ID == id })
	require.GreaterOrEqual(t, at, 0, "no step %s", id)
	return draft.Steps[at]
}

// A flowchart without circles gives a step for each node, and a dependency for each arrow.
func TestFlowchartsKeepTheirArrows(t *testing.T) {
	for name, text := range map[string]string{
		"chart.dot": `digraph G {
  rankdir=TB; node [shape=box]; // drawing
  begin [label="Start: a user\nreports an issue"];
  airplane [label="Airplane mode on?", shape=diamond];
  begin -> airplane;
  airplane -> turn [label="Yes"]; airplane -> check [label="No"];
  turn -> check -> done;
  subgraph cluster_0 { check [label="Check the \"SIM\""]; }
}`,
		"chart.mmd": "flowchart TD\n  %% drawing\n  begin([Start: a user<br/>reports an issue]) --> airplane{Airplane mode on?}\n  airplane -->|Yes| turn[\"Turn it off\"]\n  airplane -- No --> check\n  turn --> check((Check the SIM)) ==> done;\n  classDef x fill:#fff\n  style done fill:#f9f\n",
	} {
		t.Run(name, func(t *testing.T) {
			draft := read(t, name, text)
			require.Equal(t, []string{"airplane check", "airplane turn", "begin airplane", "check done", "turn check"}, edges(draft))
			require.Equal(t, "Start: a user reports an issue", step(t, draft, "begin").Input["task"])
			require.Equal(t, []string{"Yes", "No"}, step(t, draft, "airplane").Schema["properties"].(map[string]any)["answer"].(map[string]any)["enum"])
			require.Equal(t, "airplane?.answer == 'Yes'", step(t, draft, "turn").When)
			require.Equal(t, "airplane?.answer == 'No' || steps.turn.status == 'done'", step(t, draft, "check").When)
			require.Equal(t, "any", step(t, draft, "check").Join)
		})
	}
}

// An arrow that goes back is no dependency, and is told.
func TestAnArrowThatGoesBackIsTold(t *testing.T) {
	draft := read(t, "c.mmd", "graph LR\nA --> B --> C\nC -->|again| A\n")
	require.Equal(t, []string{"a b", "b c"}, edges(draft))
	last := draft.Units[len(draft.Units)-1]
	require.Equal(t, adopt.LeftOut, last.Verdict)
	require.Contains(t, last.Why, "goes back")
}

const skill = `---
name: release
description: Releases a version
---
# Release

Read the changelog first. NEVER release on a Friday.

1. Check that the tree is clean
2. Ask the user for approval before tagging
   - Show the notes
3. If the tests fail, then fix them, otherwise go on

Never run ` + "`git push --force`" + `.

| step | who |
| --- | --- |
| tag | Ann |

` + "```sh\nmake test\n```\n\n```yaml\na: 1\n```\n"

// Every heading, item, row, sentence and block of a page is in the report with its verdict.
func TestASkill(t *testing.T) {
	draft := read(t, "skills/release/SKILL.md", skill)
	require.Equal(t, "release", draft.Name)
	require.Equal(t, "Releases a version", draft.Description)
	verdicts := map[string]string{}
	for _, each := range draft.Units {
		verdicts[each.Text] = each.Verdict
		require.Contains(t, strings.Split(skill, "\n")[each.Line-1], strings.Fields(each.Text)[0], "the line of %q", each.Text)
	}
	require.Equal(t, map[string]string{
		"Release": adopt.Asked, "Read the changelog first.": adopt.Asked, "NEVER release on a Friday.": adopt.Enforced, "Check that the tree is clean": adopt.Enforced,
		"Ask the user for approval before tagging": adopt.Enforced, "Show the notes": adopt.Asked, "If the tests fail, then fix them, otherwise go on": adopt.Enforced,
		"Never run `git push --force`.": adopt.Enforced, "step | who": adopt.Asked, "tag | Ann": adopt.Asked, "make test": adopt.Enforced, "a: 1": adopt.Asked,
	}, verdicts)
	require.Len(t, draft.Rules, 1)
	require.Equal(t, "git push --force", draft.Rules[0].Command)
	require.Equal(t, []string{"sh", "-ec", "make test"}, draft.Commands[0].Run)
	require.Equal(t, draft.Workflow("SKILL.md"), read(t, "skills/release/SKILL.md", skill).Workflow("SKILL.md"), "the same page gives the same workflow")
	for _, each := range draft.Steps {
		if each.Quote != "" {
			require.True(t, (&flow.Quote{Text: each.Quote}).Stands(skill), each.Quote)
		}
	}
}

const handbook = `# Reports

> IMPORTANT: read the template before you write.

## Writing (NEVER invent figures)

Every report MUST have a summary. The summary should fit on a page. Do not write scripts for it.

- **Always cite the source** of a figure, e.g. the annual report
- **Never use colours alone** - some readers do not see them
  - Labels must stand beside the line
- Keep sentences short
- Prefer words that people know
  - and spell them out

1. Collect the figures
   - from the ledger
   - from the bank
2. Write the draft
   1. Begin with the summary
   2. Don't forget the date
   3. End with the sources
3. Show it

**CRITICAL:** a draft must be marked as one. ❌ **Don't** send it before it was read. Do NOT use ` + "`rm -rf` or `git clean -fd`" + `.

| part | rule |
| --- | --- |
| title | must be short |

Make sure that the numbers add up. You should always keep the old version. Use only the new logo.
Before printing, verify that the pages are in order. Before binding, confirm which cover the customer wants. Refuse if the ledger is missing. Do **not** fold it.
Confirm that the index exists before the appendix. No letter leaves the house without a stamp. Before saying "done," read it again.
Do **not** copy the ` + "`git log` command. Never run `git push` on Fridays, nor `git tag -d`, unless asked. Don't run `git gc --prune`, or `git am x` to mend it" + `. Never print without asking the owner.
Once the owner picks a cover, go on: do not ask for another confirmation. When to print: at night. Before lunch, inspect:

- the press
- the glue

You must follow these:

1. First this
2. Then that
`

// Every sentence of a page that says must, never or always is held by something, or stands in
// a task where it is a part of a table or a heading.
func TestDutiesAreAccountedFor(t *testing.T) {
	draft := read(t, "handbook.md", handbook)
	found := func(words string) adopt.Unit {
		at := slices.IndexFunc(draft.Units, func(each adopt.Unit) bool { return strings.Contains(each.Text, words) })
		require.GreaterOrEqual(t, at, 0, words)
		return draft.Units[at]
	}
	for _, words := range []string{"read the template", "MUST have a summary", "Do not write scripts", "Always cite the source", "Never use colours", "Labels must stand", "Don't forget the date",
		"must be marked as one", "send it before", "Do NOT use", "numbers add up", "always keep the old", "only the new logo",
		"pages are in order", "which cover", "ledger is missing", "not** fold", "index exists", "without a stamp", "read it again", "copy the", "on Fridays", "git gc", "picks a cover", "the glue", "must be short"} {
		require.Equal(t, adopt.Enforced, found(words).Verdict, words)
	}
	for _, words := range []string{"NEVER invent figures", "Keep sentences short", "Prefer words", "and spell them out", "should fit on a page"} {
		unit := found(words)
		require.Equal(t, adopt.Asked, unit.Verdict, words)
		require.NotEmpty(t, unit.Step, words)
	}
	var forbidden []string
	for _, each := range draft.Rules {
		forbidden = append(forbidden, each.Command)
	}
	require.Equal(t, []string{"rm -rf", "git clean -fd"}, forbidden) // not what is allowed at times
	require.Equal(t, "human.approve", step(t, draft, found("without asking").Step).Call)
	require.Equal(t, "flow.assert", step(t, draft, found("picks a cover").Step).Call)
	require.Equal(t, adopt.Asked, found("When to print").Verdict)
	// The points below a duty are kept with it; numbered ones stay steps.
	require.Contains(t, step(t, draft, found("the glue").Step).Input["message"], "inspect:\n- the press\n- the glue")
	require.Equal(t, "Then that", step(t, draft, "then_that").Input["task"])

	// Numbered items are steps in their order, also those below another; points are no steps.
	require.Equal(t, "Collect the figures\n  - from the ledger\n  - from the bank", step(t, draft, "collect_the_figures").Input["task"])
	require.Equal(t, "- Keep sentences short\n- Prefer words that people know\n  - and spell them out", step(t, draft, "keep_sentences_short").Input["task"])
	require.Equal(t, []string{"collect_the_figures"}, step(t, draft, "write_the_draft").Deps)
	require.Equal(t, []string{"write_the_draft"}, step(t, draft, found("Begin with").Step).Deps)
	require.Equal(t, found("Don't forget the date").Step, step(t, draft, found("End with").Step).Deps[0])
	require.Equal(t, []string{found("End with").Step}, step(t, draft, "show_it").Deps)
}

// The jobs of Actions depend on each other as they need each other.
func TestJobsOfActions(t *testing.T) {
	draft := read(t, "ci.yml", `name: CI
on: push
jobs:
  test:
    strategy: {matrix: {go: ["1.25", "1.26"], os: [linux], include: [{go: tip}]}}
    steps:
      - uses: actions/checkout@v4
      - {name: Test, run: go test ./...}
  build: {needs: test, steps: [{run: "make ${{ matrix.x }}"}]}
  publish:
    needs: [test, build]
    if: github.ref == 'refs/heads/main'
    steps: [{name: Push, run: "push ${{ secrets.TOKEN }}"}]
  report: {needs: [publish], if: always(), steps: [{run: ./report}]}
`)
	jobs := map[string][]string{}
	for _, job := range []string{"test", "build", "publish", "report"} {
		above := map[string]bool{}
		var walk func(id string)
		walk = func(id string) {
			for _, dep := range step(t, draft, id).Deps {
				if slices.Contains([]string{"test", "build", "publish", "report"}, dep) {
					above[dep] = true
				} else {
					walk(dep)
				}
			}
		}
		walk(job)
		for each := range above {
			jobs[job] = append(jobs[job], each)
		}
		slices.Sort(jobs[job])
	}
	require.Equal(t, map[string][]string{"build": {"test"}, "publish": {"build", "test"}, "report": {"publish"}}, jobs)
	require.Equal(t, `{"default":[{"go":"1.25","os":"linux"},{"go":"1.26","os":"linux"},{"go":"tip"}],"type":"array"}`, draft.Params["test_rows"])
	require.Equal(t, "params.test_rows", step(t, draft, "test_test").Foreach)
	require.Equal(t, "done", step(t, draft, "report_report").Join)
	require.Equal(t, []string{"report_report"}, step(t, draft, "report").Deps, "what is done in any case is not skipped with what failed")
	require.Contains(t, string(draft.Workflow("ci.yml")), `"yes"`)
}

// What a step or a job of Actions says beside its command is not lost: a command that needs
// more than a shell is a task.
func TestWhatJobsOfActionsSay(t *testing.T) {
	draft := read(t, "ci.yml", `jobs:
  a:
    runs-on: ${{ matrix.os }}
    services: {db: {image: postgres}}
    strategy:
      matrix:
        os: [linux, mac]
        go: [1, 2]
        exclude: [{os: mac, go: 1}]
        include: [{os: linux, extra: x}, {os: win, go: 2}]
    outputs: {version: "${{ steps.v.outputs.v }}"}
    steps:
      - {run: make}
      - {run: make test, working-directory: sub}
      - {run: dir, shell: pwsh}
      - {run: ./deploy, if: github.ref == 'refs/heads/main'}
      - {run: ./clean, if: always()}
      - {run: ./tell, if: "failure() && !cancelled()"}
      - {run: ./undo, if: failure()}
      - {run: ./up, env: {KEY: "${{ secrets.KEY }}"}}
  b: {needs: a, uses: ./.github/workflows/w.yml, with: {v: 1}}
  c: {needs: [a, b], if: "${{ always() && needs.a.result == 'failure' }}", steps: [{uses: x/y@v1, with: {z: 1}, continue-on-error: true}]}
`)
	require.JSONEq(t, `{"type": "array", "default": [{"os": "linux", "go": 1, "extra": "x"}, {"os": "linux", "go": 2, "extra": "x"}, {"os": "mac", "go": 2}, {"os": "win", "go": 2}]}`, draft.Params["a_rows"])
	require.Len(t, draft.Commands, 2, "make and ./clean are plain commands")
	for _, each := range []struct{ step, says string }{
		{"a_prepare", `"image":"postgres"`}, {"a_make_test", `{"working-directory":"sub"}`}, {"a_dir", `{"shell":"pwsh"}`}, {"a_deploy", "Only where this holds for this run, else say that it does not: github.ref == 'refs/heads/main'."},
		{"a_tell", "failure() && !cancelled()"}, {"a_undo", "Only where this holds for this run, else say that it does not: failure()."}, {"a_up", `"KEY":"${{ secrets.KEY }}"`}, {"b_uses", `with {"v":1}`}, {"c_x_y_v1", `{"continue-on-error":true}`},
	} {
		require.Contains(t, step(t, draft, each.step).Input["task"], each.says)
	}
	require.Empty(t, step(t, draft, "a_undo").When, "what is skipped would skip what comes after it")
	require.Equal(t, []any{"version"}, step(t, draft, "a_outputs").Schema["required"])
	require.Equal(t, []string{"done", "done", "done"}, []string{step(t, draft, "a_clean").Join, step(t, draft, "a_tell").Join, step(t, draft, "if_c").Join})

	action := read(t, "action.yml", "name: Set up\nruns:\n  using: composite\n  steps:\n    - {run: make tools, shell: bash}\n    - {uses: a/b@v1}\n")
	require.Equal(t, []string{"bash", "-ec", "make tools"}, action.Commands[0].Run)
	require.Equal(t, 5, action.Commands[0].Line)
}

// What is no procedure is refused with a code, and nothing crashes.
func TestWhatIsNoProcedure(t *testing.T) {
	for name, each := range map[string]struct {
		text string
		code fault.Code
	}{
		"a.pdf": {"x", fault.InvalidParams}, "a.md": {"", fault.InvalidParams}, "a.yml": {"a: 1", fault.InvalidParams}, "b.yml": {"a: [", fault.YAMLSchemaViolation}, "a.dot": {"digraph {", fault.YAMLSchemaViolation},
		"a.mmd": {"sequenceDiagram\nA->>B: x", fault.YAMLSchemaViolation}, "b.mmd": {"flowchart TD\nA --> --> B", fault.YAMLSchemaViolation}, "c.yml": {"jobs: {a: {needs: b}, b: {needs: a}}", fault.CyclicDependency},
		"gitlab.yml": {"stages: [test]\ntest: {script: [make]}", fault.InvalidParams},
		"large.md":   {strings.Repeat("a. ", 1<<19), fault.LimitExceeded},
		"deep.md":    {strings.Repeat("- ", 3000) + "x", fault.LimitExceeded},
		"latin1.md":  {"1. Caf\xe9\n", fault.InvalidParams},
	} {
		_, err := adopt.Read(name, []byte(each.text), flow.ReadForeignYAML)
		require.ErrorIs(t, err, each.code, name)
	}
}

// A chart of a page is what its heading is about, and Actions' values in texts are no templates.
func TestAPageWithAChart(t *testing.T) {
	draft := read(t, "page.md", "# Deploy\n\n```mermaid\nflowchart TD\n  a/b --> c?\n```\n\nTell ${{ github.actor }} and ${name}.\n")
	require.Contains(t, edges(draft), "a_b c")
	for _, each := range draft.Units {
		require.NotEqual(t, adopt.LeftOut, each.Verdict, each.Text)
	}
	require.Contains(t, string(draft.Workflow("page.md")), `and {{ \"${\" }}name}`)

	// Another diagram is a part of the task, and a quote stands in the page also between tags.
	page := "# How\n\n```mermaid\nsequenceDiagram\n A->>B: go\n```\n\n<p>Ask <b>nobody</b>\nhere</p>\n"
	draft = read(t, "page.md", page)
	require.Equal(t, adopt.Asked, draft.Units[1].Verdict)
	require.Contains(t, draft.Units[1].Why, "no flowchart")
	for _, each := range draft.Steps {
		require.True(t, (&flow.Quote{Text: each.Quote}).Stands(page), each.Quote)
	}
}

// A long document is read in a moment: a name that many steps want, and sentences that seem
// to go on, took minutes.
func TestALongDocument(t *testing.T) {
	const items = 9_000
	draft := read(t, "long.md", strings.Repeat("1. the same\n", items)+"\n"+strings.Repeat("the e.g. of it. ", items))
	ids := map[string]bool{}
	for _, step := range draft.Steps {
		ids[step.ID] = true
	}
	require.GreaterOrEqual(t, len(ids), items)
	require.Len(t, draft.Steps, len(ids))
	sentence := "It is " + strings.Repeat("äße ", 2000)
	quote := flow.Quote{Text: read(t, "long.md", sentence).Steps[0].Quote}
	require.LessOrEqual(t, len(quote.Text), 4000)
	require.True(t, quote.Stands(sentence))
}

func FuzzPage(f *testing.F) {
	f.Add(skill)
	f.Add("Build it. Is it so?\n\n1.")
	f.Fuzz(func(_ *testing.T, text string) {
		if draft, err := adopt.Read("a.md", []byte(text), flow.ReadForeignYAML); err == nil {
			draft.Workflow("a.md")
		}
	})
}

const branching = `---
name: brew
description: Brews coffee
---
# Coffee

Check that the kettle is full. If not, fill it.

If the beans are old, throw them away. If no beans are left, buy some.

See whether the filter is clean. If so, use it. If not, wash it.

1. If the water is hard:
   1. Soften it
   2. Taste it
2. Otherwise:
   - Boil it
3. Pour

If the cup is cold:

- Warm it

<IMPORTANT>
You MUST ask the guest before you add milk.
Never add salt.
</IMPORTANT>

<!-- nobody sees this -->

Serve nothing until the customer agrees.
`

// Conditions of several sentences, and those above a list, are branches; words between tags
// of HTML are words of the page.
func TestBranchesOfSeveralSentences(t *testing.T) {
	draft := read(t, "coffee.md", branching)
	require.Equal(t, draft, read(t, "coffee.md", strings.ReplaceAll(branching, "\n", "\r\n")), "the ends of lines do not matter")
	require.Equal(t, "brew", draft.Name)
	var asked, branches []string
	for _, each := range draft.Steps {
		if task, _ := each.Input["task"].(string); each.When != "" && task != "" {
			branches = append(branches, each.When+": "+task)
		} else if question, is := strings.CutPrefix(task, "Answer yes or no, and say why: is it so that "); is {
			asked = append(asked, question)
		}
	}
	require.Equal(t, []string{"the kettle is full?", "the beans are old?", "no beans are left?", "the filter is clean?", "the water is hard?", "the cup is cold?"}, asked)
	require.Equal(t, []string{"kettle_full.answer == 'no': fill it.", "beans_old.answer == 'yes': throw them away.", "no_beans_left.answer == 'yes': buy some.",
		"filter_clean.answer == 'yes': use it.", "filter_clean.answer == 'no': wash it.", "water_hard.answer == 'yes': Soften it", "cup_cold.answer == 'yes': Warm it"}, branches)
	require.Equal(t, []string{"without_water_hard"}, step(t, draft, "boil_it").Deps)
	require.Equal(t, []string{"taste_it", "boil_it"}, step(t, draft, "after_water_hard").Deps)
	require.Equal(t, []string{"after_water_hard"}, step(t, draft, "pour").Deps)
	for _, words := range []string{"If not, fill it.", "If no beans", "If so", "If not, wash", "hard:", "Otherwise:", "cold:", "MUST ask", "Never add salt.", "until the customer"} {
		at := slices.IndexFunc(draft.Units, func(each adopt.Unit) bool { return strings.Contains(each.Text, words) })
		require.GreaterOrEqual(t, at, 0, words)
		require.Equal(t, adopt.Enforced, draft.Units[at].Verdict, words)
	}
	approvals := slices.DeleteFunc(slices.Clone(draft.Steps), func(each *adopt.Step) bool { return each.Call != "human.approve" })
	require.Len(t, approvals, 2)
}

// Files of Actions may have anchors, aliases and merges.
func TestAnchorsOfActions(t *testing.T) {
	draft := read(t, "ci.yml", `jobs:
  lint: &job
    runs-on: ubuntu-latest
    env: &env {A: one}
    steps: &steps
      - {name: Build, run: make}
  test:
    <<: *job
    needs: lint
    env: {<<: *env, B: two}
    steps: *steps
`)
	require.Equal(t, []string{"lint test_prepare", "lint_build lint", "lint_prepare lint_build", "test_build_b test", "test_prepare test_build_b"}, edges(draft))
	require.Contains(t, step(t, draft, "test_prepare").Input["task"], `{"env":{"A":"one","B":"two"}}`)

	merged := read(t, "ci.yml", "jobs:\n  a:\n    env: {<<: [[{A: one}, {A: two, B: one}], {B: two, C: one}"+strings.Repeat(", []", 100_000)+"]}\n    steps: [{run: make}]\n")
	require.Contains(t, step(t, merged, "a_prepare").Input["task"], `{"env":{"A":"one","B":"one","C":"one"}}`)

	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += strings.NewReplacer("N", string(rune('1'+i)), "M", string(rune('0'+i))).Replace("aN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n")
	}
	for code, text := range map[fault.Code]string{fault.LimitExceeded: bomb + "jobs: *a9\n", fault.YAMLSchemaViolation: "jobs: *none\n"} {
		_, err := adopt.Read("ci.yml", []byte(text), flow.ReadForeignYAML)
		require.Equal(t, code, fault.From(err).Code)
	}
	_, err := adopt.Read("ci.yml", []byte("jobs: &a {b: *a}\n"), flow.ReadForeignYAML)
	require.Error(t, err)
}

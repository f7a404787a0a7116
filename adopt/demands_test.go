package adopt_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/adopt"
)

const demands = `# Moving the tank

Look at the level. Ensure the pump is off. Write it down.

Wait until the valve is cold.

Drain the tank before opening the lid.

**Important:** wear gloves.

Exit code 1 → stop and call the plant.

Confirm that the lid is locked:

` + "```sh\nlid status\n```" + `

Do not weld unless the owner of the tank authorizes it.

Reach a majority of approvals before the move.

Ask the user which crane to use:

1. the blue one
2. the old one

Ask the customer exactly once:

> Shall the tank go? Proceed?

- [ ] The ground is dry
- [x] The road is closed

The following MUST stay dry:

- the pump
- the fuse, never the cable

## If the crane is late

Call the depot.

### Ring twice

Note the hour.

## Otherwise

Lift it.

## 7. Paint the tank

## Red flags

- smoke
- a smell of gas

## Ways

` + "```dot\ndigraph g {\n  lift -> turn [label=\"yes\"];\n  lift -> wait [label=\"no\"];\n  legend [label=\"blue: crane\"];\n}\n```\n"

// What a page demands is held, in the order of the page, in the words and places that people
// have for it.
func TestWhatAPageDemands(t *testing.T) {
	draft := read(t, "tank.md", demands)
	calls := map[string]string{}
	for _, unit := range draft.Units {
		if at := slices.IndexFunc(draft.Steps, func(each *adopt.Step) bool { return each.ID == unit.Step }); at >= 0 {
			calls[unit.Text] = draft.Steps[at].Call
		}
	}
	for call, texts := range map[string]string{
		"flow.assert": "Ensure the pump is off.|Wait until the valve is cold.|Drain the tank before opening the lid.|**Important:** wear gloves.|Confirm that the lid is locked:|" +
			"The ground is dry|The road is closed|The following MUST stay dry:|the pump|the fuse, never the cable|Red flags|smoke|a smell of gas",
		"human.approve": "Do not weld unless the owner of the tank authorizes it.|Reach a majority of approvals before the move.|Ask the customer exactly once:|Shall the tank go? Proceed?",
		"human.ask":     "Ask the user which crane to use:|the blue one|the old one",
		"ci.run":        "lid status",
		"llm.generate":  "Look at the level.|Write it down.|Exit code 1 → stop and call the plant.|If the crane is late|Otherwise|7. Paint the tank|Lift it.|lift",
	} {
		for _, text := range strings.Split(texts, "|") {
			require.Equal(t, call, calls[text], text)
		}
	}
	for below, above := range map[string]string{"kept_ensure_pump_off": "moving_the_tank", "kept_confirm_lid_locked": "run_lid_status", "if_crane_late": "crane_late", "after_crane_late": "ring_twice", "step_7_paint_tank": "after_crane_late", "after_exit_code_1": "stop_exit_code_1"} {
		require.Contains(t, step(t, draft, below).Deps, above)
	}
	require.Equal(t, "crane_late.answer == 'yes'", step(t, draft, "if_crane_late").When)
	require.Equal(t, "{{ exit_code_1.answer == 'no' }}", step(t, draft, "stop_exit_code_1").Input["that"])
	require.Equal(t, map[string]any{"ask_user_which_crane_use": "{{ ask_user_which_crane_use.answer }}"}, step(t, draft, "ring_twice").Input["answers"])
	require.Contains(t, draft.Units, adopt.Unit{Line: 65, Text: "blue: crane", Verdict: adopt.LeftOut, Why: "no arrow leads to it or from it, as of a legend or a note"})
}

// A skill describes itself in one line or several.
// Sentences of skills that others wrote: what they demand, by the call that holds it.
func TestDemandsOfSkills(t *testing.T) {
	for words, call := range map[string]string{
		"Ask: **Add, list or remove a profile?**":               "human.ask",
		"Ask which profile to test, then run it.":               "human.ask",
		"Ask in sequence (one question per message):":           "human.ask",
		"Ask one question at a time.":                           "flow.assert",
		"Ask questions **one at a time** to know the purpose.":  "flow.assert",
		"**Accuracy:** Ensure all examples run.":                "flow.assert",
		"After cleanup, confirm:":                               "flow.assert",
		"Re-run the proof until it holds.":                      "flow.assert",
		"The task is NOT complete until every file exists.":     "flow.assert",
		"Once I approve the outline, write the pages.":          "human.approve",
		"Confirmation required: the second step.":               "human.approve",
		"Show each part, asking for approval after each.":       "human.approve",
		"Ask yourself: is it simple?":                           "llm.generate",
		"**Form:** ask the user which one it is.":               "human.ask",
		"Else ask the user where the notes are.":                "human.ask",
		"After explicit consent, run the migration.":            "human.approve",
		"On approval, send the letter.":                         "human.approve",
		"Review: have a human confirm that the plan fits.":      "human.approve",
		"State what it costs and require an explicit user yes.": "human.approve",
		"For writes, stop until the approval is there.":         "human.approve",
		"From the root, run the check until it is green.":       "flow.assert",
		"Keep the state internal unless it helps.":              "flow.assert",
		"The header is **required** for the token.":             "flow.assert",
		"Forms require a name and a date.":                      "flow.assert",
		"Avoid repeated calls of the vault.":                    "flow.assert",
		"**Rule — cold start:** after a change, import it.":     "flow.assert",
		"`--as-of` — **required**, no default.":                 "flow.assert",
		"This skill deliberately does NOT write letters.":       "flow.assert",
		"This agent does not file tickets.":                     "flow.assert",
		"## Hard rules\n\n1. Name the folder":                   "flow.assert",
		"## Out of scope\n\n- Clicking at random":               "flow.assert",
		"| case | cure |\n|-|-|\n| storm | Never call it |":     "flow.assert",
		"When to stop:\n\n- the log is full":                    "flow.assert",
		"The light stays on until the tank is full.":            "llm.generate",
		"When a restart is required:":                           "llm.generate",
		"Tokens live for 5 minutes before they expire.":         "llm.generate",
		"Name the steps that require a model.":                  "llm.generate",
		"It is NOT a replacement for a crane.":                  "llm.generate",
		"Windows requires a second key.":                        "llm.generate",
		"**compatibility**: Required tools, a crane":            "llm.generate",
		"Clients cannot see the meter by themselves.":           "llm.generate",
		"The gauge accepts only round numbers.":                 "llm.generate",
		"This is the only chance to see it.":                    "llm.generate",
		"Look through a read-only window.":                      "llm.generate",
		"The old pump does NOT start by itself.":                "llm.generate",
		"The big and the small crane do not lift water.":        "llm.generate",
		"The number of the tank always equals its year.":        "llm.generate",
		"Take a hose for lids that do **not** fit.":             "llm.generate",
		"If you waited, there's a lamp on the roof.":            "llm.generate",
		"Rinse it, no consent required.":                        "llm.generate",
		"## System requirements\n\n- a crane\n- a hose":         "llm.generate",
		"## Prerequisites\n\n- a crane\n- a hose":               "llm.generate",
		"You should always drain the tank.":                     "flow.assert",
		"Lids go up only in a dry hour.":                        "flow.assert",
		"You may only lift it by day.":                          "flow.assert",
		"It is heavy, so do not lift it.":                       "flow.assert",
		"Every lid requires a seal.":                            "flow.assert",
		"Painting requires a mask.":                             "flow.assert",
		"You cannot lift it without a rope.":                    "flow.assert",
		"Seal (**required** for tanks)":                         "flow.assert",
	} {
		draft := read(t, "page.md", words+"\n")
		require.Equal(t, call, draft.Steps[len(draft.Steps)-1].Call, words)
	}
}

func TestDescriptionsOfSkills(t *testing.T) {
	for _, head := range []string{"description: Moves: a tank", "description: >-\n  Moves: a\n  tank", "description:\n  Moves: a\n  tank\nmetadata:\n  author: x", "description: \"Moves: a\n  tank\""} {
		draft := read(t, "SKILL.md", "---\nname: move-tank\n"+head+"\nlicense: MIT\n---\nLift it.\n")
		require.Equal(t, [2]string{"move_tank", "Moves: a tank"}, [2]string{draft.Name, draft.Description}, head)
	}
}

// Each task has the answers in expressions of their own, and of many questions the last.
func TestAnswersToManyQuestions(t *testing.T) {
	page := ""
	for i := range 60 {
		page += "Ask the user for the name of crane " + strconv.Itoa(i) + ".\n\n"
	}
	answers, is := step(t, read(t, "cranes.md", page+"1. Lift them.\n"), "lift_them").Input["answers"].(map[string]any)
	require.True(t, is)
	require.Len(t, answers, 50)
	for id, each := range answers {
		require.Equal(t, "{{ "+id+".answer }}", each)
	}
}

const answers = `# Deploy

1. Run the tests. If they fail, mend them; otherwise commit.
2. Is the build green? If yes, deploy. If no, stop.
3. Does the change touch the API?
   - If yes, write the docs.
   - If no, go on.

Is the tag there? If not, make one.

Should we go back?

- If no → wait.
- If yes → go back.

You do not:

- Write the feature.
- Commit changes.

When the node drains, the controller records this:

` + "```console\nnode x) drained\n```\n\n```console\n$ oc get pods\nNAME READY\n$ oc delete pod \\\n    a\n```\n"

// A question that stands in an item or above a list has its branches, what a page tells has
// none, and of a session of a shell the typed lines alone are a command.
func TestAnswersToAQuestion(t *testing.T) {
	draft := read(t, "x.md", answers)
	var branches, left []string
	for _, each := range draft.Steps {
		if each.When != "" {
			task, _ := each.Input["task"].(string)
			branches = append(branches, each.When+" "+task)
		}
	}
	require.Equal(t, []string{
		"is_they_fail.answer == 'yes' mend them.", "is_they_fail.answer == 'no' commit.",
		"build_green.answer == 'yes' deploy.", "build_green.answer == 'no' stop.",
		"does_change_touch_api.answer == 'yes' write the docs.", "does_change_touch_api.answer == 'no' go on.",
		"tag_there.answer == 'yes' ", "tag_there.answer == 'no' make one.",
		"should_we_go_back.answer == 'yes' go back.", "should_we_go_back.answer == 'no' wait.",
	}, branches)
	require.Equal(t, "Answer yes or no, and say why: Is the build green?", step(t, draft, "build_green").Input["task"])
	require.Equal(t, "You do not:\n- Write the feature.\n- Commit changes.", step(t, draft, "holds_you_do_not_write").Input["message"])
	require.Len(t, draft.Commands, 1)
	require.Equal(t, "oc get pods\noc delete pod \\\na", draft.Commands[0].Run[2])
	for _, each := range draft.Units {
		if each.Verdict == adopt.LeftOut {
			left = append(left, each.Text)
		}
	}
	require.Empty(t, left)
	require.Len(t, draft.Units, 18)
}

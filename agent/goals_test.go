package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/fault"
)

// A run goes on with a new goal: what was asked, done and answered before is
// remembered, also by another process.
func TestARunGoesOnWithANewGoal(t *testing.T) {
	w := newWorld(t, []json.RawMessage{
		json.RawMessage(`{"action":"tool","tool_name":"test.read","args":{"text":"the first fact"}}`),
		json.RawMessage(`{"action":"finish","final":"the first answer"}`),
		json.RawMessage(`{"action":"finish","final":"the second answer"}`),
		json.RawMessage(`{"action":"finish","final":"the third answer"}`),
	}, func(o *agent.Options) { o.MaxSteps = 4 })
	run, err := w.runtime.Start(agent.RunOptions{Goal: "What is first?"})
	require.NoError(t, err)
	first := run.Wait(t.Context(), nil)
	require.Equal(t, "the first answer", first.Final)

	run, err = w.runtime.Resume(agent.Order{RunID: first.RunID, Goal: "And what is second?"})
	require.NoError(t, err)
	second := run.Wait(t.Context(), nil)
	require.Equal(t, agent.StatusOK, second.Status)
	require.Equal(t, "the second answer", second.Final)
	require.Equal(t, "And what is second?", second.Goal)
	require.Equal(t, 3, second.Steps)
	asked := w.api.Requests()
	require.Len(t, asked, 3)
	require.Equal(t, "And what is second?\n\nEarlier in this conversation:\n- Asked: What is first?\n  Answered: the first answer", asked[2].Goal)
	require.Equal(t, 3, asked[2].Step)
	require.Equal(t, 4, asked[2].Limits.StepsLeft, "a goal has as many steps as a run")
	require.Len(t, asked[2].Memory.Steps, 2)
	require.Contains(t, string(asked[2].Memory.Steps[0].Outcomes[0].Result), "the first fact")

	// The journal says the same, and goes on from there once more.
	report, err := w.runtime.Report(first.RunID)
	require.NoError(t, err)
	require.Equal(t, second.Goal, report.Goal)
	require.Equal(t, second.Final, report.Final)
	require.Len(t, report.Transcript, 3)
	again, err := w.runtime.Resume(agent.Order{RunID: first.RunID})
	require.NoError(t, err)
	require.Equal(t, "the second answer", again.Wait(t.Context(), nil).Final)
	same, err := w.runtime.Resume(agent.Order{RunID: first.RunID, Goal: "And what is second?"})
	require.NoError(t, err)
	require.Equal(t, "the second answer", same.Wait(t.Context(), nil).Final, "the goal it has is no new one")
	require.Len(t, w.api.Requests(), 3)
	run, err = w.runtime.Resume(agent.Order{RunID: first.RunID, Goal: "And third?", MaxSteps: 2})
	require.NoError(t, err)
	third := run.Wait(t.Context(), nil)
	require.Equal(t, "the third answer", third.Final)
	asked = w.api.Requests()
	require.Equal(t, 2, asked[3].Limits.StepsLeft)
	require.Contains(t, asked[3].Goal, "- Asked: And what is second?\n  Answered: the second answer")

	_, err = w.runtime.Resume(agent.Order{RunID: "unknown", Goal: "And?"})
	require.ErrorIs(t, err, fault.UnknownRun)
	_, err = w.runtime.Resume(agent.Order{RunID: first.RunID, Goal: "And?", MaxSteps: 1000})
	require.ErrorIs(t, err, fault.InvalidParams)
}

// What was ordered to come first belonged to the first goal, and a new goal may lead
// to a workflow as a first one does.
func TestANewGoalLeadsToAWorkflow(t *testing.T) {
	w := newWorld(t, []json.RawMessage{json.RawMessage(`{"action":"finish","final":"no"}`)}, nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", ForceTool: "test.read", ForceFinish: true})
	require.NoError(t, err)
	first := run.Wait(t.Context(), nil)
	require.Equal(t, agent.StatusOK, first.Status)
	run, err = w.runtime.Resume(agent.Order{RunID: first.RunID, Goal: "take me on a repository tour"})
	require.NoError(t, err)
	second := run.Wait(t.Context(), nil)
	require.GreaterOrEqual(t, len(second.Transcript), 2)
	require.Equal(t, "test.read", second.Transcript[0].Calls[0].Tool)
	tools := []string{}
	for _, step := range second.Transcript[1:] {
		for _, each := range step.Calls {
			tools = append(tools, each.Tool)
		}
	}
	require.Equal(t, []string{"workflow.workflow_run"}, tools)
}

// A run that is still at work gets no other goal.
func TestARunAtWorkKeepsItsGoal(t *testing.T) {
	w := newWorld(t, []json.RawMessage{json.RawMessage(`{"action":"tool","tool_name":"test.ignore","args":{}}`)}, nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
	require.NoError(t, err)
	<-w.api.Arrived
	_, err = w.runtime.Resume(agent.Order{RunID: run.ID(), Goal: "another"})
	require.ErrorIs(t, err, fault.InvalidTransition)
	same, err := w.runtime.Resume(agent.Order{RunID: run.ID(), Goal: "g"})
	require.NoError(t, err)
	require.Equal(t, run, same)
	run.Cancel()
	<-run.Done()
}

package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/engines"
	"savant/fault"
)

// called calls a tool of the agent as a client does.
func called[Out any](t *testing.T, w *world, ctx context.Context, tool, args string) (Out, error) {
	t.Helper()
	return calledWith[Out](t, w, ctx, engines.Caller{}, tool, args)
}

// calledBy is called for a client that can do more than wait.
func calledBy[Out any](t *testing.T, w *world, caller engines.Caller, tool, args string) (Out, error) {
	t.Helper()
	return calledWith[Out](t, w, t.Context(), caller, tool, args)
}

func calledWith[Out any](t *testing.T, w *world, ctx context.Context, caller engines.Caller, tool, args string) (Out, error) {
	t.Helper()
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(w.runtime.Tools()...))
	var out Out
	result, err := registry.Invoke(ctx, engines.Call{Caller: caller}, tool, json.RawMessage(args))
	if err == nil {
		require.NoError(t, json.Unmarshal(result.JSON, &out))
	}
	return out, err
}

func TestAgentRunAnswersOrSaysHowToGoOn(t *testing.T) {
	w := newWorld(t, script(read, answer, hang), nil)
	var reports []string
	client := engines.Caller{Progress: func(done, total float64, message string) { reports = append(reports, message) }}
	report, err := calledBy[agent.Report](t, w, client, "agent.run", `{"goal":"g"}`)
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, report.Status)
	require.Equal(t, "the answer", report.Final)
	require.Len(t, report.Transcript, 2)
	require.NotEmpty(t, reports)

	report, err = called[agent.Report](t, w, t.Context(), "agent_run", `{"goal":"g","wait_ms":0}`)
	require.NoError(t, err)
	require.Equal(t, agent.StatusRunning, report.Status)
	standing, err := called[agent.Report](t, w, t.Context(), "agent.status", `{"run_id":"`+report.RunID+`","wait_ms":1}`)
	require.NoError(t, err)
	require.Equal(t, agent.StatusRunning, standing.Status)
	canceled, err := called[agent.Report](t, w, t.Context(), "agent.cancel", `{"run_id":"`+report.RunID+`"}`)
	require.NoError(t, err)
	require.Equal(t, agent.StatusCanceled, canceled.Status)
	again, err := called[agent.Report](t, w, t.Context(), "agent.cancel", `{"run_id":"`+report.RunID+`"}`)
	require.NoError(t, err)
	require.Equal(t, canceled, again)
	standing, err = called[agent.Report](t, w, t.Context(), "agent.status", `{"run_id":"`+report.RunID+`","wait_ms":50000}`)
	require.NoError(t, err)
	require.Equal(t, agent.StatusCanceled, standing.Status)
	list, err := called[agent.ListOutput](t, w, t.Context(), "agent.list", `{"limit":1}`)
	require.NoError(t, err)
	require.Len(t, list.Runs, 1)
	require.Equal(t, 1, list.More)
}

// TestARunSurvivesItsClient: the call ends with its client, the run does not.
func TestARunSurvivesItsClient(t *testing.T) {
	w := newWorld(t, script(read, answer), nil)
	gone, leave := context.WithCancel(t.Context())
	leave()
	report, err := called[agent.Report](t, w, gone, "agent.run", `{"goal":"g"}`)
	<-w.api.Arrived // a call that nobody waits for may end before its run has begun
	if err == nil {
		report, err = called[agent.Report](t, w, t.Context(), "agent.run", `{"run_id":"`+report.RunID+`"}`)
	} else {
		report, err = called[agent.Report](t, w, t.Context(), "agent.run", `{"run_id":"run1"}`)
	}
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, report.Status)
	require.Len(t, w.api.Requests(), 2)
}

// TestARunKeepsWhatItWasOrdered: what would be of no effect on a run that goes
// on is refused, above all what would make it safer.
func TestARunKeepsWhatItWasOrdered(t *testing.T) {
	w := newWorld(t, script(answer), nil)
	report, err := called[agent.Report](t, w, t.Context(), "agent.run", `{"goal":"g"}`)
	require.NoError(t, err)
	for name, value := range map[string]string{"read_only": "true", "deny": `["git.*"]`, "allow": `["git.*"]`, "workflow": `"w"`,
		"force_tool": `"x"`, "force_args": `{"a":1}`, "force_finish": "true", "dry_run": "true"} {
		_, err := called[agent.Report](t, w, t.Context(), "agent.run", `{"run_id":"`+report.RunID+`","`+name+`":`+value+`}`)
		require.ErrorIs(t, err, fault.InvalidParams, name)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, report.RunID)
	}
	again, err := called[agent.Report](t, w, t.Context(), "agent.run", `{"run_id":"`+report.RunID+`","goal":"","read_only":false,"allow":[]}`)
	require.NoError(t, err, "what many clients fill in says nothing")
	require.Equal(t, report.Final, again.Final)
}

func TestWhatAgentToolsRefuse(t *testing.T) {
	w := newWorld(t, nil, nil)
	for args, code := range map[string]fault.Code{`{}`: fault.InvalidParams, `{"goal":" \n"}`: fault.InvalidParams, `{"goal":"g","run_id":"r"}`: fault.UnknownRun,
		`{"run_id":"unknown"}`: fault.UnknownRun, `{"goal":"g","max_steps":5000}`: fault.InvalidParams, `{"goal":"g","allow":["["]}`: fault.InvalidParams,
		`{"force_tool":"test.read","force_args":"[1]"}`: fault.InvalidParams, `{"goal":"x","force_args":{"a":1}}`: fault.InvalidParams} {
		_, err := called[agent.Report](t, w, t.Context(), "agent.run", args)
		require.ErrorIs(t, err, code, args)
	}
	for _, tool := range []string{"agent.status", "agent.cancel"} {
		_, err := called[agent.Report](t, w, t.Context(), tool, `{"run_id":"unknown"}`)
		require.ErrorIs(t, err, fault.UnknownRun)
	}
}

// A model is told the arguments of each tool, also of one whose schema is made from a type.
func TestModelsSeeTheSchemasOfTools(t *testing.T) {
	w := newWorld(t, script(`{"action":"finish","final":"done"}`), nil)
	w.run(t, agent.RunOptions{Goal: "Look."})
	tools := w.api.Requests()[0].Tools
	require.NotEmpty(t, tools)
	for _, tool := range tools {
		require.Contains(t, string(tool.InputSchema), `"properties"`, tool.Name)
	}
}

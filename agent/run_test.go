package agent_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory"
	"savant/engines"
	"savant/fault"
	"savant/internal/redact"
	"savant/telemetry"
	"savant/test/agenttest"
)

func script(answers ...string) []json.RawMessage {
	list := make([]json.RawMessage, len(answers))
	for i, each := range answers {
		list[i] = json.RawMessage(each)
	}
	return list
}

const (
	read    = `{"action":"tool","tool_name":"test.read","args":{"text":"a"}}`
	hang    = `{"action":"tool","tool_name":"test.hang","args":{}}`
	answer  = `{"action":"finish","final":"the answer"}`
	endless = 2 * time.Minute // to notice that something hangs
)

// ended waits for the end of a run.
func ended(t *testing.T, run *agent.Run) agent.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endless)
	defer cancel()
	report := run.Wait(ctx, nil)
	require.NotEqual(t, agent.StatusRunning, report.Status, "it hangs")
	return report
}

// TestResumeAsksAndCallsNothingTwice ends a run while a call is going on: when
// it goes on, that call is made again, and nothing before it.
func TestResumeAsksAndCallsNothingTwice(t *testing.T) {
	w := newWorld(t, script(`{"action":"tool","calls":[{"tool_name":"test.write","args":{"text":"once"}},{"tool_name":"test.hang","args":{}}]}`), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1"})
	require.NoError(t, err)
	written := filepath.Join(w.folder, "written")
	require.Eventually(t, func() bool { // the call is in the journal
		records, err := w.store.Records("r1")
		return err == nil && len(records) == 3
	}, endless, time.Millisecond)
	w.runtime.Close()
	require.Equal(t, agent.StatusInterrupted, ended(t, run).Status)
	_, err = w.runtime.Start(agent.RunOptions{Goal: "late"})
	require.ErrorIs(t, err, fault.EngineOffline)

	next := newWorld(t, nil, nil)
	require.NoError(t, os.Rename(filepath.Join(w.folder, ".savant"), filepath.Join(next.folder, ".savant")))
	again, err := next.runtime.Resume(agent.Order{RunID: "r1"})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return strings.Contains(next.log.Text(), "tool_call_started 1 test.hang") }, endless, time.Millisecond)
	again.Cancel()
	require.Equal(t, agent.StatusCanceled, ended(t, again).Status)
	require.NotContains(t, next.log.Text(), "ask ")
	data, err := os.ReadFile(written)
	require.NoError(t, err)
	require.Equal(t, "once\n", string(data))
	_, err = os.Stat(filepath.Join(next.folder, "written"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestResumeGoesOnFromEveryRecord cuts the journal of a finished run after each
// record: whatever was there is not done again, and the end is the same.
func TestResumeGoesOnFromEveryRecord(t *testing.T) {
	answers := []string{read, `{"action":"reason","reasoning":"hm"}`, `{"action":"tool","calls":[{"tool_name":"test.write","args":{"text":"1"}},{"tool_name":"test.read","args":{"text":"2"}}]}`, answer}
	w := newWorld(t, script(answers...), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1"})
	require.NoError(t, err)
	whole := ended(t, run)
	require.Equal(t, agent.StatusOK, whole.Status)
	journal, err := os.ReadFile(filepath.Join(w.folder, ".savant", "sessions", "r1.journal"))
	require.NoError(t, err)
	records, err := w.store.Records("r1")
	require.NoError(t, err)
	lines := bytes.SplitAfter(bytes.TrimSuffix(journal, []byte("\n")), []byte("\n"))
	for cut := 1; cut <= len(lines); cut++ {
		decisions := 0
		for _, each := range records[:cut] {
			if each.Kind == "decision" {
				decisions++
			}
		}
		next := newWorld(t, script(answers[decisions:]...), nil)
		folder := filepath.Join(next.folder, ".savant", "sessions")
		require.NoError(t, os.MkdirAll(folder, 0o700))
		kept := append(bytes.TrimSuffix(bytes.Join(lines[:cut], nil), []byte("\n")), '\n')
		require.NoError(t, os.WriteFile(filepath.Join(folder, "r1.journal"), kept, 0o600))
		again, err := next.runtime.Resume(agent.Order{RunID: "r1"})
		require.NoError(t, err)
		report := ended(t, again)
		require.Equal(t, whole.Status, report.Status)
		require.Equal(t, whole.Final, report.Final)
		require.Equal(t, len(answers)-decisions, strings.Count(next.log.Text(), "ask "), "asked after record %d", cut)
		require.Equal(t, shapes(whole), shapes(report))
		require.Equal(t, shapes(whole), shapes(reported(t, next, "r1")))
	}
}

// TestAnInterruptedForcedCallIsAskedAboutAgain: what a person typed approved the call of
// that process. Who resumes the run names the tool again, and the words of the goal still
// do not apply to what was ordered.
func TestAnInterruptedForcedCallIsAskedAboutAgain(t *testing.T) {
	w := newWorld(t, nil, nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "do not use tools", RunID: "r1", Approval: agent.Approval{Typed: true}, ForceTool: "test.destroy", ForceArgs: json.RawMessage(`{"text":"x"}`), ForceFinish: true})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, run).Status)
	journal, err := os.ReadFile(filepath.Join(w.folder, ".savant", "sessions", "r1.journal"))
	require.NoError(t, err)
	resumed := func(order agent.Order) (agent.Report, string) {
		next := newWorld(t, nil, nil)
		folder := filepath.Join(next.folder, ".savant", "sessions")
		require.NoError(t, os.MkdirAll(folder, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "r1.journal"), bytes.Join(bytes.SplitAfter(journal, []byte("\n"))[:2], nil), 0o600))
		again, err := next.runtime.Resume(order)
		require.NoError(t, err)
		return ended(t, again), filepath.Join(next.folder, "written")
	}
	report, written := resumed(agent.Order{RunID: "r1"})
	require.Equal(t, agent.RuleDestructive, report.Transcript[0].Calls[0].Rule)
	require.NoFileExists(t, written)
	report, written = resumed(agent.Order{RunID: "r1", Approval: agent.Approval{Approve: []string{"test_destroy"}}})
	require.Equal(t, agent.StatusOK, report.Status)
	require.Empty(t, report.Transcript[0].Calls[0].Rule)
	require.FileExists(t, written)
}

// TestAJournalNeverAllows: a folder brings a journal that claims, as older versions wrote,
// that a person allowed everything. Neither a new goal nor the call that it forces is made
// unasked; what a person types for the goal is.
func TestAJournalNeverAllows(t *testing.T) {
	destroy := `{"action":"tool","tool_name":"test.destroy","args":{"text":"x"}}`
	for name, order := range map[string]string{
		"approved": `{"goal":"tidy up","max_steps":9,"approve":["test.destroy","*"],"typed":true}`,
		"allowed":  `{"goal":"tidy up","max_steps":9,"allow":["test.*"],"typed":true,"Typed":true,"Approve":["*"]}`,
		"forced":   `{"goal":"tidy up","max_steps":9,"typed":true,"force_tool":"test.destroy","force_args":{"text":"x"}}`,
		"renamed":  `{"goal":"tidy up","max_steps":9,"Approval":{"Approve":["*"],"Typed":true}}`,
	} {
		record := memory.Record{Number: 1, Kind: "started", Time: "2026-01-02T03:04:05Z", Data: json.RawMessage(`{"order":` + order + `,"time":"2026-01-02T03:04:05Z"}`)}
		line, err := record.Line()
		require.NoError(t, err)
		for goal, typed := range map[string][]string{"": nil, "wipe it": nil, "wipe it, I said": {"test.destroy"}} {
			t.Run(name+" "+goal, func(t *testing.T) {
				w := newWorld(t, script(destroy, answer), nil)
				folder := filepath.Join(w.folder, ".savant", "sessions")
				require.NoError(t, os.MkdirAll(folder, 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(folder, "r1.journal"), append(line, '\n'), 0o600))
				run, err := w.runtime.Resume(agent.Order{RunID: "r1", Goal: goal, Approval: agent.Approval{Approve: typed}})
				require.NoError(t, err)
				calls := 0
				for _, step := range ended(t, run).Transcript {
					for _, each := range step.Calls {
						if each.Tool == "test.destroy" {
							calls++
							require.Equal(t, typed == nil, each.Rule == agent.RuleDestructive, each.Error)
						}
					}
				}
				require.NotZero(t, calls)
				_, err = os.Stat(filepath.Join(w.folder, "written"))
				require.Equal(t, typed != nil, err == nil)
			})
		}
	}
}

// TestWhatAPersonTypedIsNotStored: the journal of a run has nothing that allows a call.
func TestWhatAPersonTypedIsNotStored(t *testing.T) {
	w := newWorld(t, script(answer), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1", Approval: agent.Approval{Approve: []string{"test.destroy"}, Typed: true}})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, run).Status)
	journal, err := os.ReadFile(filepath.Join(w.folder, ".savant", "sessions", "r1.journal"))
	require.NoError(t, err)
	require.NotContains(t, string(journal), "destroy")
	require.NotRegexp(t, `(?i)typed|approv`, string(journal))
}

func reported(t *testing.T, w *world, id string) agent.Report {
	t.Helper()
	report, err := w.runtime.Report(id)
	require.NoError(t, err)
	return report
}

// shapes are the steps of a report without what differs each time.
func shapes(report agent.Report) []string {
	var list []string
	for _, step := range report.Transcript {
		text := fmt.Sprint(step.Index, step.Action, step.Reasoning)
		for _, each := range step.Calls {
			text += fmt.Sprint(" ", each.Tool, string(each.Args), string(each.Output))
		}
		list = append(list, text)
	}
	return list
}

func TestARunThatEndedWellIsNotRunAgain(t *testing.T) {
	w := newWorld(t, script(answer), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1"})
	require.NoError(t, err)
	ended(t, run)
	again, err := w.runtime.Resume(agent.Order{RunID: "r1"})
	require.NoError(t, err)
	require.Equal(t, "the answer", ended(t, again).Final)
	require.Len(t, w.api.Requests(), 1)
	_, err = w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1"})
	require.ErrorIs(t, err, fault.IDCollision)
	_, err = w.runtime.Resume(agent.Order{RunID: "unknown"})
	require.ErrorIs(t, err, fault.UnknownRun)
}

func TestTheLimitCanBeRaised(t *testing.T) {
	w := newWorld(t, script(read, `{"action":"reason","reasoning":"hm"}`, answer), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1", MaxSteps: 2})
	require.NoError(t, err)
	require.Equal(t, agent.StatusMaxSteps, ended(t, run).Status)
	again, err := w.runtime.Resume(agent.Order{RunID: "r1", MaxSteps: 10})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, again).Status)
}

func TestOnlySoManyRunsAtOnce(t *testing.T) {
	w := newWorld(t, script(hang, hang, hang, hang, hang, hang, hang, hang), nil)
	for range 8 {
		_, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
		require.NoError(t, err)
	}
	_, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
	require.ErrorIs(t, err, fault.EngineBusy)
}

// TestParallelCallsRunAtOnce: two calls that wait for each other end.
func TestParallelCallsRunAtOnce(t *testing.T) {
	meet := make(chan struct{})
	tool := func(name string) engines.Tool {
		made := engines.Bind(name, "Waits for another.", func(ctx context.Context, _ struct{}) (any, error) {
			select {
			case meet <- struct{}{}:
			case <-meet:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return map[string]any{"met": true}, nil
		})
		return made
	}
	registry := engines.NewRegistry(engines.Options{})
	require.NoError(t, registry.Add(tool("a.one"), tool("a.two")))
	w := newWorld(t, script(`{"action":"tool","calls":[{"tool_name":"a.one"},{"tool_name":"a.two"}]}`, answer), func(o *agent.Options) { o.Toolbox = registry })
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, run).Status)
}

// secrets are one that is known, and one of each shape.
var secrets = []string{"planted-secret-value", base64.StdEncoding.EncodeToString([]byte("ada:planted-secret-value")), "sk-proj-" + "abcdefghijklmnop1234",
	"ghp_" + "abcdefghijklmnopqrstuvwxyz012345", "AKIA" + "IOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
	"Bearer abcdefghijklmnop", "https://ada:lovelace@example.org", `api_key=abcdef123456`}

// TestNoSecretIsLeft plants each in the goal, an argument and an output, and
// looks for it in every file and every question.
func TestNoSecretIsLeft(t *testing.T) {
	for _, secret := range secrets {
		t.Run(secret, func(t *testing.T) { leavesNothing(t, secret) })
	}
}

func leavesNothing(t *testing.T, secret string) {
	w := newWorld(t, script(`{"action":"tool","tool_name":"test.leak","args":{"text":"`+secret+`"},"reasoning":"with `+secret+`"}`,
		`{"action":"tool","tool_name":"`+secret+`","args":{}}`, `{"action":"finish","final":"it is `+secret+`"}`), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "find " + secret})
	require.NoError(t, err)
	report := ended(t, run)
	questions, err := json.Marshal(w.api.Requests())
	require.NoError(t, err)
	encoded, err := json.Marshal(report)
	require.NoError(t, err)
	for _, text := range []string{string(questions), string(encoded), w.log.Text()} {
		require.NotContains(t, text, secret)
	}
	require.Contains(t, string(encoded), redact.Mark)
	require.NoError(t, filepath.WalkDir(w.folder, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		require.NotContains(t, string(data), secret, name)
		return err
	}))
}

// TestACallWithASecretIsNotMadeWithLess: the journal has no secrets, so what it
// has of a call's arguments may not be what was decided.
func TestACallWithASecretIsNotMadeWithLess(t *testing.T) {
	secret := secrets[2]
	w := newWorld(t, script(`{"action":"tool","calls":[{"tool_name":"test.write","args":{"text":"`+secret+`"}},{"tool_name":"test.write","args":{"text":"1"}}]}`, answer), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1", ForceTool: "test.write", ForceArgs: json.RawMessage(`{"text":"` + secret + `"}`)})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, run).Status)
	require.Contains(t, readLines(t, w.folder, "written"), secret+"\n", "tools get what was given and decided")
	require.Equal(t, 2, strings.Count(strings.Join(readLines(t, w.folder, "written"), ""), secret))
	journal := readLines(t, w.folder, ".savant/sessions/r1.journal")
	require.NotContains(t, strings.Join(journal, ""), secret)
	require.Contains(t, journal[3], `"kind":"decision"`)

	next := newWorld(t, script(answer), nil)
	writeLines(t, next.folder, ".savant/sessions/r1.journal", journal[:4]) // killed while both calls went on
	again, err := next.runtime.Resume(agent.Order{RunID: "r1"})
	require.NoError(t, err)
	report := ended(t, again)
	require.Equal(t, agent.StatusOK, report.Status)
	calls := report.Transcript[1].Calls
	require.ErrorIs(t, calls[0].Error, fault.ToolFailed)
	require.ErrorContains(t, calls[0].Error, "test.write", "the call that was not repeated")
	require.Nil(t, calls[1].Error)

	writeLines(t, next.folder, ".savant/sessions/r1.journal", journal[:1]) // killed before the first call was decided
	_, err = next.runtime.Resume(agent.Order{RunID: "r1"})
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, "force_args")
}

func TestASnapshotThatCannotBeWrittenCostsNoRun(t *testing.T) {
	w := newWorld(t, script(read, answer), nil)
	require.NoError(t, os.MkdirAll(filepath.Join(w.folder, ".savant", "session.json"), 0o700))
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, run).Status)
	require.Contains(t, w.log.Text(), "error 1 STATE_NOT_SAVED")
}

// TestATraceThatWasCutIsCompleted: when a run continues after a crash, the events that its
// journal has and its trace lacks are recorded, once and with the time at which they
// happened.
func TestATraceThatWasCutIsCompleted(t *testing.T) {
	answers := []string{read, `{"action":"tool","calls":[{"tool_name":"test.write","args":{"text":"1"}},{"tool_name":"test.read","args":{"text":"2"}}]}`, `{"action":"reason","reasoning":"hm"}`}
	w := newWorld(t, script(append(answers, answer)...), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g", RunID: "r1"})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, run).Status)
	journal := readLines(t, w.folder, ".savant/sessions/r1.journal")
	trace := readLines(t, w.folder, telemetry.TraceFile)
	whole := eventsOf(t, trace)
	last := slices.IndexFunc(trace, func(line string) bool { return strings.Contains(line, `"step":4`) })
	for cut := range last + 1 {
		next := newWorld(t, script(answer), nil)
		writeLines(t, next.folder, ".savant/sessions/r1.journal", journal[:len(journal)-2]) // killed before the last decision
		writeLines(t, next.folder, telemetry.TraceFile, trace[:cut])
		again, err := next.runtime.Resume(agent.Order{RunID: "r1"})
		require.NoError(t, err)
		require.Equal(t, agent.StatusOK, ended(t, again).Status)
		require.ElementsMatch(t, whole, eventsOf(t, readLines(t, next.folder, telemetry.TraceFile)), "cut after line %d", cut)
	}
}

// eventsOf are the decisions and the ends of calls in a trace.
func eventsOf(t *testing.T, lines []string) []string {
	t.Helper()
	var list []string
	for _, line := range lines {
		var e telemetry.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		if e.Type == telemetry.ReasoningStep || e.Type == telemetry.ToolCallCompleted {
			list = append(list, agenttest.Shown(e)+" "+e.CallID)
		}
	}
	return list
}

func readLines(t *testing.T, folder, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
	require.NoError(t, err)
	return slices.Collect(strings.Lines(string(data)))
}

func writeLines(t *testing.T, folder, name string, lines []string) {
	t.Helper()
	name = filepath.Join(folder, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600))
}

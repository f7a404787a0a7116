package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/agent/memory"
	"savant/fault"
)

// What ended a run is the last step of its transcript, live and read again.
func TestTheEndIsAStepOfTheTranscript(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		options agent.RunOptions
		cancel  bool
		want    []memory.Step
		steps   int
	}{
		"a finish": {[]string{read, answer}, agent.RunOptions{Goal: "g"}, false,
			[]memory.Step{{Index: 1, Action: "tool"}, {Index: 2, Action: "finish", Final: "the answer"}}, 2},
		"a finish of that name": {[]string{`{"action":"finish","finish":"the answer"}`}, agent.RunOptions{Goal: "g"}, false,
			[]memory.Step{{Index: 1, Action: "finish", Final: "the answer"}}, 1},
		"a forced finish": {nil, agent.RunOptions{Goal: "g", ForceFinish: true}, false,
			[]memory.Step{{Index: 1, Action: "finish", Final: "ok"}}, 0},
		"the limit": {[]string{read}, agent.RunOptions{Goal: "g", MaxSteps: 1}, false,
			[]memory.Step{{Index: 1, Action: "tool"}, {Index: 2, Action: "finish", Final: "No answer was reached."}}, 1},
		"a cancel": {[]string{read, hang}, agent.RunOptions{Goal: "g"}, true,
			[]memory.Step{{Index: 1, Action: "tool"}, {Index: 2, Action: "cancel", Final: "Canceled by user"}}, 1},
		"giving up": {[]string{`{"action":"error","reasoning":"there is no such branch"}`}, agent.RunOptions{Goal: "g"}, false,
			[]memory.Step{{Index: 1, Action: "error", Reasoning: "there is no such branch", Error: "there is no such branch"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, script(c.answers...), nil)
			run, err := w.runtime.Start(c.options)
			require.NoError(t, err)
			if c.cancel {
				require.Eventually(t, func() bool { return strings.Contains(w.log.Text(), "tool_call_started 2 test.hang") }, endless, time.Millisecond)
				run.Cancel()
			}
			live := ended(t, run)
			stored, err := w.runtime.Report(run.ID())
			require.NoError(t, err)
			for _, report := range []agent.Report{live, stored} {
				require.Equal(t, c.steps, report.Steps)
				require.Len(t, report.Transcript, len(c.want))
				for i, step := range report.Transcript {
					require.True(t, strings.HasPrefix(step.Final, c.want[i].Final), step.Final)
					step.Final, step.Calls = c.want[i].Final, nil
					require.Equal(t, c.want[i], step)
				}
			}
		})
	}
}

// Whoever decides may decide that it cannot be done: that is no service that could
// not be reached.
func TestGivingUpIsADecision(t *testing.T) {
	w := newWorld(t, script(`{"action":"error","reasoning":"there is no such branch"}`), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
	require.NoError(t, err)
	report := ended(t, run)
	require.Equal(t, agent.StatusError, report.Status)
	require.Equal(t, fault.GaveUp, report.Error.Code)
	require.Equal(t, "there is no such branch", report.Error.Details)
}

// endsMeanwhile is a place where a run ends between the first look at its journal and the
// look at its claim.
type endsMeanwhile struct {
	memory.Place
	looked *bool
}

func (e endsMeanwhile) Records(id string) ([]memory.Record, error) {
	records, err := e.Place.Records(id)
	if err == nil && !*e.looked {
		*e.looked = true
		records = records[:len(records)-1]
	}
	return records, err
}

// A run that ends while another process reads it is not reported as interrupted.
func TestARunThatEndsWhileItIsReadHasEnded(t *testing.T) {
	w := newWorld(t, script(read, answer), nil)
	run, err := w.runtime.Start(agent.RunOptions{Goal: "g"})
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, ended(t, run).Status)
	other := agent.New(agent.Options{Memory: memory.Over(endsMeanwhile{w.store.Place, new(bool)}, time.Now)})
	t.Cleanup(other.Close)
	report, err := other.Report(run.ID())
	require.NoError(t, err)
	require.Equal(t, agent.StatusOK, report.Status)
}

package workflow_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/workflow"
	"savant/fault"
	"savant/think"
)

// In these tests time is that of a bubble: it passes when everything waits.

func TestAttemptsAreSpacedByTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		b := setup(t, nil, one("steps: [{id: a, call: tool.x, retry: {max: 3, backoff: 2s}}]"), workflow.Options{
			Toolbox: tools(func(context.Context, string, json.RawMessage) (engines.Result, error) {
				at = append(at, time.Since(began))
				return engines.Result{}, fault.New(fault.ToolFailed, "no")
			})})
		require.Equal(t, workflow.Failed, b.run(t.Context()).Status)
		require.Equal(t, []time.Duration{0, 2 * time.Second, 6 * time.Second, 14 * time.Second}, at)
		require.Equal(t, workflow.Refused, b.events[1].Kind)
		require.Equal(t, 2*time.Second, b.events[1].Wait)
	})
}

func TestATimeoutFailsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := setup(t, nil, one("steps: [{id: a, call: tool.x, timeout: 30s, retry: {max: 1}, capture_as: a}, {id: b, call: tool.x, timeout: 0s, retry: {max: 0}}]\noutputs: {a: '{{ a }}'}"), workflow.Options{
			Toolbox: tools(func(ctx context.Context, _ string, _ json.RawMessage) (engines.Result, error) {
				if calls++; calls == 1 {
					<-ctx.Done()
				}
				if ctx.Err() != nil {
					return engines.Result{}, ctx.Err()
				}
				return gives(`{}`)
			})})
		began := time.Now()
		require.Equal(t, workflow.Done, b.run(t.Context()).Status, "0s is no timeout")
		require.Equal(t, 30*time.Second, time.Since(began))
		require.Contains(t, b.events[1].Why, "TOOL_TIMEOUT")
		require.Equal(t, 3, calls)
	})
}

func TestABusyEngineIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := setup(t, nil, one("steps: [{id: a, call: tool.x, retry: {max: 0}}]"), workflow.Options{
			Toolbox: tools(func(context.Context, string, json.RawMessage) (engines.Result, error) {
				if time.Since(began) < time.Minute {
					return engines.Result{}, fault.New(fault.EngineBusy, "later")
				}
				return gives(`{}`)
			})})
		require.Equal(t, workflow.Done, b.run(t.Context()).Status)
	})
}

func TestParallelStepsRunAtOnceUpToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, nil, one("limits: {parallel: 3}\nsteps: [{id: a, call: tool.x, foreach: '1..6', as: n, capture_as: all}]\noutputs: {all: '{{ all }}'}"), workflow.Options{
			Toolbox: tools(func(context.Context, string, json.RawMessage) (engines.Result, error) {
				time.Sleep(time.Minute)
				return gives(`{}`)
			})})
		began := time.Now()
		require.Equal(t, workflow.Done, b.run(t.Context()).Status)
		require.Equal(t, 2*time.Minute, time.Since(began), "six calls of a minute, three at once")
	})
}

// waits is a toolbox whose tool takes an hour, and counts its calls.
func waits(calls *int) tools {
	return func(ctx context.Context, _ string, _ json.RawMessage) (engines.Result, error) {
		*calls++
		select {
		case <-time.After(time.Hour):
			return gives(`{"n":1}`)
		case <-ctx.Done():
			return engines.Result{}, ctx.Err()
		}
	}
}

const slow = "steps: [{id: a, call: tool.x, capture_as: a}]\noutputs: {a: '{{ a }}'}"

func TestADriveGoesOnWhenItsCallHasWaitedEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := setup(t, nil, one(slow), workflow.Options{Toolbox: waits(&calls)})
		outcome, err := b.driver.Run(t.Context(), engines.Call{}, workflow.Request{Workflow: "main", RunID: "r", Wait: time.Minute}, b.watch)
		require.NoError(t, err)
		require.Equal(t, workflow.Running, outcome.Status)
		seen := len(b.events)
		require.Equal(t, workflow.Done, b.run(t.Context()).Status, "the second call joins")
		require.Equal(t, 1, calls)
		require.Greater(t, len(b.events), seen)
	})
}

func TestACancelledCallLeavesTheStepUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := setup(t, nil, one(slow), workflow.Options{Toolbox: waits(&calls)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		outcome, err := b.driver.Run(ctx, engines.Call{}, request, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, workflow.Interrupted, outcome.Status)
		at, err := b.think.Position(t.Context(), "main", "r")
		require.NoError(t, err)
		require.Equal(t, 1, at.Version, "nothing was recorded")
		require.Equal(t, 1, at.Outstanding[0].Attempt)
		require.Equal(t, workflow.Done, b.run(t.Context()).Status)
	})
}

// A result that arrives after the drive was interrupted is recorded, so that its tool
// is not called again.
func TestWhatWasDoneIsKeptWhenADriveIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := setup(t, nil, one(slow), workflow.Options{Toolbox: tools(func(ctx context.Context, _ string, _ json.RawMessage) (engines.Result, error) {
			calls++
			<-ctx.Done()
			return gives(`{"n":2}`)
		})})
		ctx, cancel := context.WithTimeout(t.Context(), 59500*time.Millisecond) // between two looks for a cancellation
		defer cancel()
		outcome, err := b.driver.Run(ctx, engines.Call{}, request, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, workflow.Done, outcome.Status)
		require.Equal(t, workflow.Done, b.run(t.Context()).Status)
		require.Equal(t, 1, calls)
	})
}

func TestClosingInterruptsAndBoundsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := setup(t, nil, one(slow), workflow.Options{Toolbox: waits(&calls), Drives: 1})
		outcome, err := b.driver.Run(t.Context(), engines.Call{}, workflow.Request{Workflow: "main", RunID: "r", Wait: time.Second}, nil)
		require.NoError(t, err)
		require.Equal(t, workflow.Running, outcome.Status)
		_, err = b.driver.Run(t.Context(), engines.Call{}, workflow.Request{Workflow: "main", RunID: "other"}, nil)
		require.ErrorIs(t, err, fault.EngineBusy)
		joined := make(chan *workflow.Outcome)
		go func() { joined <- b.run(t.Context()) }()
		synctest.Wait()
		b.driver.Close()
		require.Equal(t, workflow.Interrupted, (<-joined).Status)
		_, err = b.driver.Run(t.Context(), engines.Call{}, request, nil)
		require.ErrorIs(t, err, fault.EngineOffline)
	})
}

// What somebody else has answered is cancelled, and counts as they answered it.
func TestWhatIsNoLongerWantedIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := setup(t, nil, one("limits: {parallel: 2}\nsteps: [{id: a, call: tool.x, capture_as: a}, {id: b, call: tool.y}]\noutputs: {a: '{{ a }}'}"), workflow.Options{
			Toolbox: tools(func(ctx context.Context, name string, args json.RawMessage) (engines.Result, error) {
				if name == "tool.x" {
					return waits(&calls)(ctx, name, args)
				}
				time.Sleep(time.Minute)
				return gives(`{}`)
			})})
		began := time.Now()
		time.AfterFunc(time.Second, func() {
			_, err := b.think.Next(context.Background(), think.NextInput{RunID: "r", StepID: "a", ResultSnapshot: json.RawMessage(`{"n":9}`)})
			if err != nil {
				t.Error(err)
			}
		})
		require.JSONEq(t, `{"a":{"n":9}}`, string(b.run(t.Context()).Outputs))
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// Two programs that drive one run get it done together or one gives way; each
// answer is recorded once.
func TestTwoDriversOfOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := one("steps: [{id: a, call: tool.x, foreach: '1..5', as: n, input_template: {n: '{{ n }}'}}]")
		toolbox := tools(func(_ context.Context, _ string, args json.RawMessage) (engines.Result, error) {
			time.Sleep(time.Second)
			return engines.Result{JSON: args}, nil
		})
		here := setup(t, nil, files, workflow.Options{Toolbox: toolbox})
		there := setup(t, here.think.Store, files, workflow.Options{Toolbox: toolbox})
		done := make(chan error)
		go func() {
			_, err := there.driver.Run(t.Context(), engines.Call{}, request, nil)
			done <- err
		}()
		require.Equal(t, workflow.Done, here.run(t.Context()).Status)
		require.NoError(t, <-done)
		got, err := here.think.StateGet(t.Context(), think.StateGetInput{RunID: "r"})
		require.NoError(t, err)
		require.Len(t, got.History, 6)
	})
}

// Where their results would differ, the later one gives way and nothing is changed.
func TestTwoDriversThatDisagree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := func(after time.Duration, text string) tools {
			return func(context.Context, string, json.RawMessage) (engines.Result, error) {
				time.Sleep(after)
				return gives(text)
			}
		}
		here := setup(t, nil, one(slow), workflow.Options{Toolbox: answers(time.Second, `{"n":1}`)})
		there := setup(t, here.think.Store, one(slow), workflow.Options{Toolbox: answers(time.Minute, `{"n":2}`)})
		done := make(chan error)
		go func() {
			_, err := there.driver.Run(t.Context(), engines.Call{}, request, nil)
			done <- err
		}()
		require.JSONEq(t, `{"a":{"n":1}}`, string(here.run(t.Context()).Outputs))
		require.NoError(t, <-done, "it learns that the run has ended, and tells that run's outcome")
		require.JSONEq(t, `{"a":{"n":1}}`, string(there.run(t.Context()).Outputs))
	})
}

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

// soon fails a test whose call waits for what does not happen.
func soon(t *testing.T, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.Fail(t, "it waits")
	}
}

// A run that is being opened holds its id and nothing else.
func TestOpeningARunKeepsNobodyWaiting(t *testing.T) {
	r := New(Options{Now: time.Now})
	opening, release, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := r.launch("a", func() (*Run, turn, error) {
			close(opening)
			<-release
			return nil, turn{}, errors.New("cannot be opened")
		})
		failed <- err
	}()
	<-opening
	soon(t, func() {
		require.Nil(t, r.running("a"))
		require.Nil(t, r.running("b"))
		_, err := r.launch("a", func() (*Run, turn, error) { panic("opened twice") })
		require.ErrorIs(t, err, fault.IDCollision)
		_, err = r.launch("b", func() (*Run, turn, error) { return nil, turn{}, fault.New(fault.UnknownRun, "no run") })
		require.ErrorIs(t, err, fault.UnknownRun)
	})
	close(release)
	require.ErrorContains(t, <-failed, "cannot be opened")
	require.Nil(t, r.opened("a"))
	require.Empty(t, r.runs, "an id whose run was not opened is free")
	soon(t, r.Close)
}

// A call that waits for the run is attached while a person is asked through another one;
// each call leaves when the question that it carried is over.
func TestAttachNeverWaitsForAPerson(t *testing.T) {
	asked, answer := make(chan string, 2), make(chan struct{})
	caller := func(name string) engines.Call {
		return engines.Call{Caller: engines.Caller{Person: engines.PersonFunc(func(context.Context, engines.Elicitation) (engines.Answer, error) {
			asked <- name
			<-answer
			return engines.Answer{Action: "accept", Content: json.RawMessage(`{"approved":true}`)}, nil
		})}}
	}
	waiting, enough := context.WithCancel(t.Context())
	defer enough()
	first, second := caller("first"), caller("second")
	a := newAsking(t.Context(), first)
	leaveFirst := a.attach(t.Context(), first)
	confirmed := make(chan bool, 1)
	go func() { yes, _ := a.Approve(t.Context(), "test.destroy", nil); confirmed <- yes }()
	require.Equal(t, "first", <-asked)
	var leaveSecond func()
	soon(t, func() { leaveSecond = a.attach(waiting, second) })
	left := make(chan struct{})
	go func() { leaveFirst(); close(left) }()
	select {
	case <-left:
		require.Fail(t, "the call left with its question open")
	case <-time.After(20 * time.Millisecond):
	}
	answer <- struct{}{}
	require.True(t, <-confirmed)
	soon(t, func() { <-left })
	go func() { yes, _ := a.Approve(t.Context(), "test.destroy", nil); confirmed <- yes }()
	require.Equal(t, "second", <-asked, "the next question takes the call that came last")
	answer <- struct{}{}
	require.True(t, <-confirmed)
	soon(t, leaveSecond)
	_, err := a.Approve(t.Context(), "test.destroy", nil)
	require.ErrorIs(t, err, fault.ToolDenied)
}

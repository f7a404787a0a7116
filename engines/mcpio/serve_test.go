package mcpio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/fault"
)

func splitLines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func callLine(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, args)
}

// Slow calls too are answered when the input ends behind them.
func TestEveryRequestReadIsAnswered(t *testing.T) {
	slow := newGate()
	w := dial(t, options(t, slow.tool("test.slow")))
	for i := range 6 {
		w.send(callLine(i, "test_slow", `{}`))
	}
	require.NoError(t, w.in.Close())
	for range 6 {
		slow.await(t)
	}
	close(slow.open)
	require.ElementsMatch(t, []string{"0", "1", "2", "3", "4", "5"}, ids(t, w.drained()))
	require.NoError(t, w.ended())
}

// A call that comes in the last, unended line counts.
func TestLastLineWithoutEnd(t *testing.T) {
	w := dial(t, options(t, echo()))
	_, err := io.WriteString(w.in, callLine(1, "test.echo", `{}`))
	require.NoError(t, err)
	lines, err := w.rest()
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, ids(t, lines))
}

// Nothing slow holds up pings, lists, prompts or cancels, however many calls
// wait.
func TestControlIsNeverBlocked(t *testing.T) {
	slow := newGate()
	w := dial(t, options(t, slow.tool("test.slow")))
	const calls = 200
	for i := range calls {
		w.send(callLine(i, "test.slow", `{}`))
	}
	w.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"ping","result":{}}`, w.next())
	w.send(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	require.Equal(t, `"list"`, string(w.nextMessage().ID))
	close(slow.open)
	lines, err := w.rest()
	require.NoError(t, err)
	require.Len(t, lines, calls)
}

// Beyond what may wait, a call is refused at once and says so.
func TestTooManyCallsAreRefused(t *testing.T) {
	slow := newGate()
	w := dial(t, options(t, slow.tool("test.slow")))
	const most = 4096
	for i := range most + 1 {
		w.send(callLine(i, "test.slow", `{}`))
	}
	refused := w.nextMessage()
	require.Equal(t, "4096", string(refused.ID))
	require.Equal(t, -32000, refused.Error.Code)
	require.Contains(t, string(refused.Error.Data), string(fault.LimitExceeded))
	close(slow.open)
	lines, err := w.rest()
	require.NoError(t, err)
	require.Len(t, lines, most)
}

// Calls with one key run in the order they came, those of others beside them.
func TestCallsOfOneKeyKeepTheirOrder(t *testing.T) {
	var order []string
	record := tool("test.record", func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) {
		order = append(order, string(args)) // the order key is the lock
		return nil, nil
	})
	slow := newGate()
	o := options(t, record, slow.tool("test.slow"))
	w := dial(t, o)
	w.send(callLine(0, "test.slow", `{"run_id":"a"}`))
	var want []string
	for i := 1; i <= 100; i++ {
		args := fmt.Sprintf(`{"i":%d,"run_id":"a"}`, i)
		want = append(want, args)
		w.send(callLine(i, "test_record", args))
	}
	w.send(callLine(101, "test.slow", `{"run_id":"b"}`))
	slow.await(t)
	slow.await(t) // b runs although a waits
	require.Empty(t, order)
	close(slow.open)
	lines, err := w.rest()
	require.NoError(t, err)
	require.Len(t, lines, 102)
	require.Equal(t, want, order)
}

// A cancelled call gets no reply, running or waiting, and does not let later
// calls of its key overtake.
func TestCancelledCallsGetNoReply(t *testing.T) {
	slow := newGate()
	o := options(t, slow.tool("test.slow"), echo())
	w := dial(t, o)
	w.send(callLine(1, "test.slow", `{"run_id":"a"}`),
		callLine(2, "test.slow", `{"run_id":"a"}`),
		callLine(3, "test.echo", `{"run_id":"a"}`))
	slow.await(t)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	require.Equal(t, "3", string(w.nextMessage().ID))
	lines, err := w.rest()
	require.NoError(t, err)
	require.Empty(t, lines)
	require.Empty(t, slow.running, "the waiting call was begun")
}

// When ctx ends, running calls are cancelled and answered, and a stuck one is
// abandoned. The clock is synctest's.
func TestStopAnswersWhatItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := newGate()
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		stuck := tool("test.stuck", func(context.Context, engines.Call, json.RawMessage) (any, error) {
			slow.running <- "stuck"
			<-release
			return nil, nil
		})
		o := options(t, slow.tool("test.slow"), stuck)
		w := dial(t, o)
		w.send(callLine(1, "test.slow", `{}`), callLine(2, "test.stuck", `{"run_id":"a"}`), callLine(3, "test.stuck", `{"run_id":"a"}`))
		slow.await(t)
		slow.await(t)
		w.stop()
		require.NoError(t, w.ended())
		lines := w.drained()
		require.Equal(t, []string{"1"}, ids(t, lines))
		require.Contains(t, lines[0], `"isError":true`)
	})
}

// A call whose turn comes when the server stops is refused, not begun. The
// clock is synctest's.
func TestStopRefusesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := newGate()
		w := dial(t, options(t, slow.tool("test.slow")))
		w.send(callLine(1, "test.slow", `{"run_id":"a"}`), callLine(2, "test.slow", `{"run_id":"a"}`))
		slow.await(t)
		w.send(`{"jsonrpc":"2.0","id":"all read","method":"ping"}`)
		w.next()
		w.stop()
		require.NoError(t, w.ended())
		lines := w.drained()
		require.Len(t, lines, 2)
		require.Contains(t, lines[1], "-32000")
		require.Empty(t, slow.running)
	})
}

// A client that no longer reads ends the connection with a coded error.
func TestBrokenOutput(t *testing.T) {
	server, err := mcpio.New(options(t, echo()))
	require.NoError(t, err)
	in, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	go func() { _, _ = io.WriteString(writer, callLine(1, "test.echo", `{}`)+"\n") }()
	err = server.Serve(t.Context(), in, brokenPipe{})
	require.ErrorIs(t, err, fault.EngineOffline)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A broken input is an error; what was read is answered all the same.
func TestBrokenInput(t *testing.T) {
	server, err := mcpio.New(options(t, echo()))
	require.NoError(t, err)
	in := io.MultiReader(strings.NewReader(callLine(1, "test.echo", `{}`)+"\n"), brokenReader{})
	var out strings.Builder
	err = server.Serve(t.Context(), in, &out)
	require.ErrorIs(t, err, fault.EngineOffline)
	require.Equal(t, []string{"1"}, ids(t, splitLines(out.String())))
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("input/output error") }

// Many calls from many places at once give whole lines, one for each.
func TestRepliesAreWholeLines(t *testing.T) {
	big := strings.Repeat("x", 20_000)
	w := dial(t, options(t, tool("test.big", func(context.Context, engines.Call, json.RawMessage) (any, error) {
		return map[string]string{"text": big}, nil
	})))
	for i := range 200 {
		w.send(callLine(i, "test.big", `{}`))
	}
	lines, err := w.rest()
	require.NoError(t, err)
	require.Len(t, ids(t, lines), 200)
}

// One server serves several clients at once.
func TestServerHoldsNothingOfAClient(t *testing.T) {
	server, err := mcpio.New(options(t, echo()))
	require.NoError(t, err)
	for range 2 {
		var out strings.Builder
		require.NoError(t, server.Serve(t.Context(), strings.NewReader(hello+"\n"), &out))
		require.Contains(t, out.String(), `"protocolVersion":"2025-06-18"`)
	}
}

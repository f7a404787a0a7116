package mcpio_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
)

// Every call is logged with its outcome, none with arguments or results; a
// panic's text and stack are in the log and nowhere else.
func TestCallsAreLogged(t *testing.T) {
	book := &logBook{}
	o := options(t, append(failing(), echo())...)
	o.Logger = book.logger()
	o.Registry = loggedRegistry(t, o.Logger, append(failing(), echo())...)
	w := dial(t, o)
	w.send(callLine(1, "test_echo", `{"token":"s3cret"}`), callLine(2, "test.coded", `{}`),
		callLine(3, "test.marshalpanic", `{}`), callLine(4, "test.unmarshalable", `{}`))
	lines, err := w.rest()
	require.NoError(t, err)
	require.NotContains(t, strings.Join(lines, ""), "hunter2")
	log := book.String()
	require.Contains(t, log, `"msg":"call","tool":"test.echo","outcome":"ok"`)
	require.Contains(t, log, `"tool":"test.coded","outcome":"STATE_CONFLICT"`)
	require.Contains(t, log, `"tool":"test.marshalpanic","outcome":"INTERNAL"`)
	require.Contains(t, log, "hunter2")
	require.Contains(t, log, "harness_test.go", "the stack of the panic")
	require.Contains(t, log, "unsupported type: func()")
	require.NotContains(t, log, "s3cret")
}

// A slow call is a warning with its parts timed. The clock is synctest's.
func TestSlowCallsAreWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := &logBook{}
		o := options(t, tool("test.slow", func(_ context.Context, _ engines.Call, _ json.RawMessage) (any, error) {
			time.Sleep(2 * time.Second)
			return nil, nil
		}), echo())
		o.Logger = book.logger()
		server, err := mcpio.New(o)
		require.NoError(t, err)
		var out stamped
		in := callLine(1, "test.slow", `{"run_id":"a"}`) + "\n" + callLine(2, "test.echo", `{"run_id":"a"}`) + "\n"
		require.NoError(t, server.Serve(t.Context(), strings.NewReader(in), &out))
		log := book.String()
		require.Contains(t, log, `"level":"WARN","msg":"slow call","tool":"test.slow","outcome":"ok","took":2000000000,"queued":0,"call":2000000000,"reply":0}`)
		require.Contains(t, log, `"tool":"test.echo","outcome":"ok","took":2000000000,"queued":2000000000,"call":0,"reply":0}`)
	})
}

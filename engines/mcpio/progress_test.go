package mcpio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
)

// stamped is an output that notes when each line was written.
type stamped struct {
	lines []string
	times []time.Time
}

func (s *stamped) Write(data []byte) (int, error) {
	s.lines = append(s.lines, strings.TrimSpace(string(data)))
	s.times = append(s.times, time.Now())
	return len(data), nil
}

// reporting is a tool that reports n times in a row, and once too late.
func reporting(n int, late *func(float64, float64, string)) engines.Tool {
	return tool("test.report", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		report := call.Progress
		if report == nil {
			return map[string]bool{"told": false}, nil
		}
		for i := range n {
			report(float64(i+1), float64(n), fmt.Sprint("step ", i+1))
			report(float64(i), float64(n), "does not grow")
		}
		*late = report
		return map[string]bool{"told": true}, nil
	})
}

func progressCall(token string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test.report","_meta":{"progressToken":%s}}}`, token)
}

// Progress is at least 5 ms apart, the reply too, and nothing follows it. The
// clock is synctest's, so nothing here depends on the machine.
func TestProgressIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late func(float64, float64, string)
		server, err := mcpio.New(options(t, reporting(3, &late)))
		require.NoError(t, err)
		var out stamped
		require.NoError(t, server.Serve(t.Context(), strings.NewReader(progressCall(`"token"`)+"\n"), &out))
		late(99, 0, "too late")
		synctest.Wait()
		require.Len(t, out.lines, 4)
		for i := range 3 {
			require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"token","progress":%d,"total":3,"message":"step %d"}}`, i+1, i+1), out.lines[i])
			require.GreaterOrEqual(t, out.times[i+1].Sub(out.times[i]), 5*time.Millisecond)
		}
		require.Contains(t, out.lines[3], `"told":true`)
	})
}

// A flood is thinned: what waits is bounded and the last report is among it.
func TestProgressFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late func(float64, float64, string)
		server, err := mcpio.New(options(t, reporting(1000, &late)))
		require.NoError(t, err)
		var out stamped
		require.NoError(t, server.Serve(t.Context(), strings.NewReader(progressCall(`7`)+"\n"), &out))
		require.LessOrEqual(t, len(out.lines), 1+1+8+1) // sent, being sent, waiting, the reply
		require.Contains(t, out.lines[len(out.lines)-2], `"progress":1000`)
		require.Contains(t, out.lines[0], `"progressToken":7`)
	})
}

// Without a token there is no progress, and the tool can tell.
func TestNoProgressWithoutToken(t *testing.T) {
	var late func(float64, float64, string)
	for _, token := range []string{`null`, `{}`, `true`} {
		w := dial(t, options(t, reporting(3, &late)))
		w.send(progressCall(token))
		require.JSONEq(t, `{"told":false}`, string(w.nextMessage().tool(t).Struct))
	}
}

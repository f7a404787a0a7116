package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkRuns takes 64 runs at once, and as many one after another, through
// one real server, in turns: steps a second, and their ratio. Both are 2,048 steps
// and a pause of seconds before them: one iteration in so many takes them, and the
// time of an iteration says nothing.
func BenchmarkRuns(b *testing.B) {
	const together, steps, iterationsAPair = 64, 32, 4
	folder := b.TempDir()
	longWorkflow(b, folder, steps)
	s := startServer(b, exec.Command("savant", "mcp"), folder)
	var one, many samples
	for i := 0; b.Loop(); i++ {
		if i%iterationsAPair > 0 {
			continue
		}
		alone, all := s.ready(b, fmt.Sprintf("one%d-", i), together, steps), s.ready(b, fmt.Sprintf("many%d-", i), together, steps)
		time.Sleep(2*calm + calm/2) // one is not to have what many are given
		one.time(func() {
			for r := range alone.lines {
				runsAtOnce{s, alone.lines[r : r+1]}.drive(b)
			}
		})
		many.time(func() { all.drive(b) })
	}
	const perSecond = float64(together*steps) * float64(time.Second/time.Millisecond)
	b.ReportMetric(0, "ns/op") // left out
	b.ReportMetric(one.median()/many.median(), "64-runs/one")
	b.ReportMetric(perSecond/many.median(), "64-steps/s")
	b.ReportMetric(perSecond/one.median(), "one-steps/s")
}

// runsAtOnce is the lines to send for some runs, each run's in its order: the next
// of a run is sent when the one before it is answered.
type runsAtOnce struct {
	server *server
	lines  [][][]byte
}

// ready plans the runs and prepares what will be sent, so that only the server
// works while time is taken.
func (s *server) ready(b *testing.B, prefix string, runs, steps int) runsAtOnce {
	c := runsAtOnce{s, make([][][]byte, runs)}
	for r := range runs {
		name := fmt.Sprint(prefix, r)
		s.call(b, "think.plan", map[string]any{"workflow": "long", "run_id": name})
		for step := range steps {
			args := map[string]any{"run_id": name, "step_id": fmt.Sprintf("s%d", step), "result_snapshot": strings.Repeat("x", payload)}
			line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r, "method": "tools/call", "params": map[string]any{"name": "think.next", "arguments": args}})
			require.NoError(b, err)
			c.lines[r] = append(c.lines[r], append(line, '\n'))
		}
	}
	return c
}

func (c runsAtOnce) drive(b *testing.B) {
	next, open := make([]int, len(c.lines)), 0
	send := func(r int) {
		if next[r] == len(c.lines[r]) {
			return
		}
		_, err := c.server.stdin.Write(c.lines[r][next[r]])
		require.NoError(b, err)
		next[r]++
		open++
	}
	for r := range c.lines {
		send(r)
	}
	for ; open > 0; open-- {
		require.True(b, c.server.lines.Scan(), "the server has ended")
		line := c.server.lines.Bytes()
		require.NotContains(b, string(line[:min(len(line), 200)]), `"isError":true`)
		send(idOf(b, line) % len(c.lines))
	}
}

// idOf reads the id of an answer from its first bytes: reading all of it would
// take longer than the server does.
func idOf(b *testing.B, line []byte) int {
	_, rest, found := bytes.Cut(line, []byte(`"id":`))
	require.True(b, found)
	var id int
	_, err := fmt.Sscanf(string(rest[:min(len(rest), 20)]), "%d", &id)
	require.NoError(b, err)
	return id
}

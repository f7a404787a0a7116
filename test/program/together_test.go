package program

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Several runs use one server that is killed again and again. Each continues with its
// first answer that was not acknowledged, and its record can be verified.
func TestRunsAtOnceOutliveTheirServer(t *testing.T) {
	t.Parallel()
	const together, steps = 16, 40
	kills := 3
	if os.Getenv("CI") != "" {
		kills = 10
	}
	folder, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	longWorkflow(t, folder, steps)
	acknowledged := make([]int, together) // the steps of each run that were acknowledged
	for range kills {
		goOnTogether(t, serveIn(t, folder), acknowledged, steps, 1+random.IntN(2*together*steps/kills))
	}
	goOnTogether(t, serveIn(t, folder), acknowledged, steps, together*(steps+1))
	for r := range acknowledged {
		require.Equal(t, steps, acknowledged[r])
		if r%4 > 0 {
			continue // each takes a process
		}
		verify := exec.Command("savant", "verify", fmt.Sprint("r", r))
		verify.Env = append(os.Environ(), "SAVANT_PATH="+folder)
		out, err := verify.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}

// goOnTogether answers steps of all runs, the next of each once the one before
// is acknowledged, and kills the server after so many acknowledgements.
func goOnTogether(t *testing.T, s *server, acknowledged []int, steps, last int) {
	begin := func(r int) bool {
		if acknowledged[r] == steps {
			return false
		}
		s.send(t, r, "think.next", map[string]any{"run_id": fmt.Sprint("r", r), "step_id": fmt.Sprint("s", acknowledged[r]), "result_snapshot": fmt.Sprint("result ", acknowledged[r])})
		return true
	}
	plans := 0
	for r := range acknowledged {
		if acknowledged[r] == 0 {
			s.send(t, r, "think.plan", map[string]any{"workflow": "long", "run_id": fmt.Sprint("r", r)})
			plans++
		}
	}
	for range plans {
		got, ok := s.read(t)
		require.True(t, ok)
		require.False(t, got.Result.IsError, s.lines.Text())
	}
	open := 0
	for r := range acknowledged {
		if begin(r) {
			open++
		}
	}
	for ; open > 0 && last > 0; last-- {
		got, ok := s.read(t)
		require.True(t, ok)
		require.False(t, got.Result.IsError, s.lines.Text())
		acknowledged[got.ID]++
		if !begin(got.ID) {
			open--
		}
	}
	require.NoError(t, s.command.Process.Kill())
	for got, ok := s.read(t); ok; got, ok = s.read(t) { // what it still said counts
		require.False(t, got.Result.IsError, s.lines.Text())
		acknowledged[got.ID]++
	}
	require.Error(t, s.wait(t))
}

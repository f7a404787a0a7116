//go:build unix

package processgroup_test

import (
	"bufio"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/processgroup"
)

// run starts a shell script in a group and returns it once it has said a line.
func run(t *testing.T, script string) (*processgroup.Group, *exec.Cmd) {
	t.Helper()
	program, group := exec.Command("sh", "-c", script), processgroup.New()
	t.Cleanup(group.End)
	stdout, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, group.Start(program))
	_, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return group, program
}

// Whoever is asked ends, and the keeper of the group is not meant.
func TestAGroupIsAskedAndEnded(t *testing.T) {
	group, program := run(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	require.NoError(t, group.Ask())
	require.Error(t, program.Wait())
	require.Equal(t, 7, program.ProcessState.ExitCode())
	require.NoError(t, group.Ask(), "there still is a group")
	group.End()
	require.Error(t, group.Ask(), "there is none")
	require.Error(t, group.Kill())
	group.End()
}

// A program that signals its own group, as many scripts do at their end, does
// not reach this process.
func TestAProgramEndsItsOwnGroup(t *testing.T) {
	for _, signal := range []string{"TERM", "KILL"} {
		group, program := run(t, `echo ready; kill -s `+signal+` 0; sleep 300`)
		require.Error(t, program.Wait())
		require.True(t, program.ProcessState.Sys().(syscall.WaitStatus).Signaled())
		group.End()
	}
}

func TestWhatDoesNotStartLeavesNothing(t *testing.T) {
	group := processgroup.New()
	require.Error(t, group.Start(exec.Command("/no/such/program")))
	group.End()
	require.Error(t, group.Kill())
}

// BenchmarkGroup is what a group costs beside its program.
func BenchmarkGroup(b *testing.B) {
	for b.Loop() {
		processgroup.New().End()
	}
}

package program

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// slow is a Reasoning API that gives one answer, if it has any, and then none.
type slow struct {
	answer string
	asked  chan struct{}
}

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then is it noticed that the client goes
	if s.answer != "" {
		_, _ = io.WriteString(w, s.answer)
		return
	}
	s.asked <- struct{}{}
	<-r.Context().Done()
}

// answersOf are the decisions of runs that wait for a tool that obeys its context, for
// one that does not, and for a decision.
var answersOf = map[string]string{
	"heeding":  `{"action":"tool","tool_name":"test.hang","args":{}}`,
	"ignoring": `{"action":"tool","tool_name":"test.ignore","args":{}}`,
	"question": "",
}

// waiting is a process whose run "slow" waits.
type waiting struct {
	*exec.Cmd
	folder string
	stderr bytes.Buffer
}

// startWaiting starts a run and returns when it waits.
func startWaiting(t testing.TB, wait, output string) *waiting {
	t.Helper()
	api := &slow{answer: answersOf[wait], asked: make(chan struct{}, 10)}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	w := &waiting{Cmd: exec.Command("savant-in-scenario", "run", "--name", "slow", "--output", output, "wait for it"), folder: t.TempDir()}
	w.Env = append(os.Environ(), "SAVANT_PATH="+w.folder, "REASONING_API_URL="+server.URL, "REASONING_API_TIMEOUT_MS=600000", "LOG_LEVEL=error", quickRace)
	w.Stderr = &w.stderr
	stdout, err := w.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(func() { _ = w.Process.Kill() }) // where the test failed
	if wait == "question" {
		<-api.asked
		return w
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && !strings.Contains(lines.Text(), `"tool_call_started"`) {
		continue
	}
	require.NoError(t, lines.Err())
	return w
}

const quickRace = "GORACE=" + quickExit

// interrupts are the ways to end it from outside.
var interrupts = map[string]func(testing.TB, *waiting){
	"interrupt": func(t testing.TB, w *waiting) { require.NoError(t, w.Process.Signal(os.Interrupt)) },
	"terminate": func(t testing.TB, w *waiting) { require.NoError(t, w.Process.Signal(syscall.SIGTERM)) },
	"runs cancel": func(t testing.TB, w *waiting) {
		// The run may have ended before the command looks at it.
		require.Regexp(t, `^run slow (was asked to end|is canceled)\n$`, printed(t, w.folder, "runs", "cancel", "slow"))
	},
}

// TestARunIsInterrupted whatever it waits for: it ends, is exit code 130, or 143 of
// SIGTERM, and is saved.
func TestARunIsInterrupted(t *testing.T) {
	t.Parallel()
	for wait := range answersOf {
		for way, interrupt := range interrupts {
			t.Run(wait+", "+way, func(t *testing.T) {
				t.Parallel()
				w := startWaiting(t, wait, "stream-json")
				interrupt(t, w)
				require.Error(t, w.Wait())
				want := exitInterrupted
				if way == "terminate" {
					want = 128 + int(syscall.SIGTERM)
				}
				require.Equal(t, want, w.ProcessState.ExitCode(), w.stderr.String())
				require.Contains(t, printed(t, w.folder, "runs", "list"), "slow  (agent)   canceled")
				require.Contains(t, printed(t, w.folder, "runs", "trace", "slow"), "finished canceled")
			})
		}
	}
}

func TestAnInterruptSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	w := startWaiting(t, "question", "text")
	require.NoError(t, w.Process.Signal(os.Interrupt))
	require.Error(t, w.Wait())
	require.Contains(t, w.stderr.String(), "Canceled by user; go on with: savant run --resume slow")
}

// BenchmarkCancel takes the time from a signal, or the start of `savant runs
// cancel`, to the end of the program whose run it is.
func BenchmarkCancel(b *testing.B) {
	for _, wait := range []string{"heeding", "ignoring", "question"} {
		for _, way := range []string{"interrupt", "runs cancel"} {
			b.Run(wait+", "+way, func(b *testing.B) {
				var took samples
				for b.Loop() {
					w := startWaiting(b, wait, "stream-json")
					took.time(func() {
						interrupts[way](b, w)
						require.Error(b, w.Wait())
					})
				}
				b.ReportMetric(took.median(), "p50-ms")
			})
		}
	}
}

// printed is what a command prints.
func printed(t testing.TB, folder string, args ...string) string {
	t.Helper()
	command := exec.Command("savant", args...)
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "LOG_LEVEL=error")
	out, err := command.Output()
	require.NoError(t, err)
	return string(out)
}

package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// hub is a program that serves the hub of a folder.
type hub struct {
	t          testing.TB
	base, link string
	command    *exec.Cmd
	out        io.Closer
}

// serve starts a hub at an address; port 0 takes a free one.
func serve(t testing.TB, folder, address string) *hub {
	t.Helper()
	command := exec.CommandContext(t.Context(), "savant", "hub", "--address", address, "--path", folder)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = command.Wait()
		require.NoError(t, err, said.String())
	}
	h := &hub{t: t, link: strings.TrimSpace(line), command: command, out: out}
	h.base, _, _ = strings.Cut(h.link, "/enter?key=")
	t.Cleanup(h.stop)
	return h
}

// stop ends the hub as Ctrl-C does.
func (h *hub) stop() {
	_ = h.command.Process.Signal(os.Interrupt) // it may have ended
	_ = h.command.Wait()
}

// again starts another hub of the folder at the same address.
func (h *hub) again(folder string) *hub {
	h.t.Helper()
	h.stop()
	return serve(h.t, folder, strings.TrimPrefix(h.base, "http://"))
}

// enter follows the link of a hub in a new profile of the browser.
func (h *hub) enter() *tab {
	h.t.Helper()
	p := newProfile(h.t)
	p.open(h.link)
	p.says("h1", "Overview")
	return p
}

// savantIn runs a command in a folder, whatever its exit code, and returns its stdout.
func savantIn(t testing.TB, folder string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "savant", append(args, "--path", folder)...).Output()
	if err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return string(out)
}

// goingOn starts a run of the agent in another process. Each decision waits until the
// test gives one.
func goingOn(t testing.TB, folder, run string) (decide chan<- string, ended func()) {
	t.Helper()
	decisions, asked := make(chan string), make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // whose end is awaited before the one of the connection
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case answer := <-decisions:
			_, _ = io.WriteString(w, answer)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	command := exec.CommandContext(t.Context(), "savant", "run", "--quiet", "--name", run, "--skip-git", "a goal", "--path", folder)
	command.Env = append(os.Environ(), "REASONING_API_URL="+server.URL+"/agent_intent")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	require.NoError(t, command.Start())
	done := make(chan struct{})
	go func() { _ = command.Wait(); close(done) }()
	t.Cleanup(func() { <-done })
	t.Cleanup(func() { _ = command.Process.Signal(os.Interrupt) }) // it may have ended
	<-asked
	return decisions, func() {
		t.Helper()
		select {
		case <-done:
		case <-time.After(patience):
			require.Fail(t, "the run has not ended")
		}
	}
}

// trace appends events to the trace of a folder, as another process would.
func trace(t testing.TB, folder string, events ...telemetry.Event) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(folder, "logs", "agent_trace.log"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer file.Close()
	var lines []byte
	for _, each := range events {
		line, err := json.Marshal(each)
		require.NoError(t, err)
		lines = append(append(lines, line...), '\n')
	}
	_, err = file.Write(lines)
	require.NoError(t, err)
}

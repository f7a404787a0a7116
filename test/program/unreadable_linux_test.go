package program

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"savant/fault"
)

// mortal is a server that permissions hold for, whoever runs the test.
type mortal struct {
	t      *testing.T
	folder string
	server *server
	asked  int
}

func newProject(t *testing.T) string {
	folder := filepath.Join(t.TempDir(), "project")
	require.NoError(t, os.Mkdir(folder, 0o755))
	return folder
}

func serveMortal(t *testing.T, folder string, environment ...string) *mortal {
	environment = append([]string{"MCP_SERVICE=all", "LOG_LEVEL=error", "HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + t.TempDir()}, environment...)
	started := make(chan *server, 1)
	go func() {
		// What a thread may not do, what it starts may not do either. It is never
		// unlocked, and so ends with this.
		runtime.LockOSThread()
		for _, each := range []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH} {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, each, 0, 0, 0) // fails without this capability
		}
		defer close(started)
		started <- serveIn(t, folder, environment...)
	}()
	s, ok := <-started
	require.True(t, ok)
	m := &mortal{t: t, folder: folder, server: s}
	return m
}

// place writes a file below the folder.
func (m *mortal) place(name, text string) {
	file := filepath.Join(m.folder, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(m.t, os.WriteFile(file, []byte(text), 0o644))
}

func (m *mortal) permit(name string, mode os.FileMode) {
	require.NoError(m.t, os.Chmod(filepath.Join(m.folder, name), mode))
}

// call calls a tool and returns what it answered, as JSON.
func (m *mortal) call(tool string, args any) string {
	m.asked++
	m.server.send(m.t, m.asked, tool, args)
	require.True(m.t, m.server.lines.Scan())
	var got struct {
		ID     int
		Result struct{ StructuredContent json.RawMessage }
	}
	require.NoError(m.t, json.Unmarshal(m.server.lines.Bytes(), &got))
	require.Equal(m.t, m.asked, got.ID)
	answer := string(got.Result.StructuredContent)
	require.NotContains(m.t, answer, filepath.Dir(m.folder), "a path of the machine")
	return answer
}

// fails calls a tool that has to fail, with a code and details that have each
// of the parts.
func (m *mortal) fails(code fault.Code, tool string, args any, parts ...string) {
	m.t.Helper()
	answer := m.call(tool, args)
	var failure fault.Error
	require.NoError(m.t, json.Unmarshal([]byte(answer), &failure))
	require.Equal(m.t, code, failure.Code, "%s: %s", tool, answer)
	for _, part := range parts {
		require.Contains(m.t, failure.Details, part, tool)
	}
}

// object is arguments of a call.
type object = map[string]any

// TestAJournalWithoutPermission: the error names the file of the run that cannot be
// read or written, the cause, and what to do.
func TestAJournalWithoutPermission(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	begun := serveMortal(t, folder)
	begun.call("think.plan", object{"workflow": "hello", "run_id": "r1", "params": object{"name": "Ada"}})

	m := serveMortal(t, folder) // which has nothing open yet
	journal := ".savant/state/hello/r1.journal"
	step := object{"workflow": "hello", "run_id": "r1", "step_id": "greet", "result_snapshot": object{"text": "Hello."}}
	asked := object{"workflow": "hello", "run_id": "r1", "step_id": "greet"}
	const advice = ": permission denied; check the permissions and the owner of it"
	m.permit(journal, 0)
	m.fails(fault.Internal, "think.explain", asked, journal+" cannot be read"+advice)
	m.fails(fault.Internal, "think.next", step, journal+" cannot be read"+advice)
	m.permit(journal, 0o400)
	m.fails(fault.StateNotSaved, "think.next", step, journal+" was not saved"+advice)
	m.permit(journal, 0o600)
	require.Contains(t, m.call("think.next", step), `"step_id":"reply"`)
}

// TestAProjectWithoutPermission: what cannot be read is no empty project, and
// what is left of it is searched with a note of the rest.
func TestAProjectWithoutPermission(t *testing.T) {
	t.Parallel()
	m := serveMortal(t, newProject(t))
	m.place("seen.md", "the zebra\n")
	m.place("closed/unseen.md", "the zebra\n")
	m.place("unread.md", "the zebra\n")
	search := object{"query": "zebra"}
	m.permit("closed", 0)
	m.permit("unread.md", 0)
	for range 3 { // the third relies on the kernel's events and checks no file
		answer := m.call("context.search", search)
		require.Contains(t, answer, `"seen.md"`)
		require.Contains(t, answer, "not searched, because it cannot be read: 1 file, 1 folder; check the permissions")
	}
	m.fails(fault.ToolFailed, "context.read", object{"path": "closed/unseen.md"}, `"closed/unseen.md" cannot be read: permission denied`)
	require.Contains(t, m.call("context.index", object{}), `"unreadable_folders":1`)
	require.Contains(t, m.call("context.tree", object{}), `"unread":1`)
	m.permit("closed", 0o755)
	m.permit("unread.md", 0o644)
	require.NotContains(t, m.call("context.search", search), "not searched")

	const unread = "SAVANT_PATH cannot be read: permission denied; check its permissions"
	m.permit("", 0o311)
	defer m.permit("", 0o755)
	m.fails(fault.ToolFailed, "context.search", search, unread)
	m.fails(fault.ToolFailed, "context.tree", object{}, unread)
	m.fails(fault.ToolFailed, "context.memory_write", object{"name": "n", "text": "t"}, unread)
	m.permit("", 0)
	for tool, args := range map[string]object{"context.read": {"path": "seen.md"}, "git.status": {}} { // nothing is called while nobody can say which rules hold
		m.fails(fault.RuleRefused, tool, args, "the rules cannot be read", "permission denied")
	}
}

// TestAMemoryWithoutPermission: writing is refused with what to do.
func TestAMemoryWithoutPermission(t *testing.T) {
	t.Parallel()
	m := serveMortal(t, newProject(t))
	m.place(".savant/memory/n.md", "before\n")
	m.permit(".savant/memory", 0o555)
	defer m.permit(".savant/memory", 0o755) // or nobody but root could remove it
	m.fails(fault.StateNotSaved, "context.memory_write", object{"name": "n", "text": "after"},
		".savant/memory/n.md was not saved: permission denied; check the permissions")
	m.permit(".savant/memory/n.md", 0)
	m.fails(fault.Internal, "context.memory_search", object{"query": "before"}, ".savant/memory/n.md cannot be read: permission denied; check")
}

// TestAProjectThatWasMoved: the runs go on, in the folder that is open; what
// goes by the name says that it is gone.
func TestAProjectThatWasMoved(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	m := serveMortal(t, folder)
	m.place("seen.md", "the zebra\n")
	m.call("think.workflows.list", object{}) // it has the folder open
	require.NoError(t, os.Rename(folder, folder+"-moved"))
	for tool, args := range map[string]object{"context.search": {"query": "zebra"}, "context.index": {}, "context.read": {"path": "seen.md"}, "context.tree": {},
		"context.memory_write": {"name": "n", "text": "t"}, "context.memory_search": {"query": "zebra"}, "git.status": {}} {
		m.fails(fault.ToolFailed, tool, args, "SAVANT_PATH", "it was moved or deleted: put it back, or start Savant with its new path")
	}
	require.Contains(t, m.call("think.plan", object{"workflow": "hello", "params": object{"name": "Ada"}}), `"greet"`)
}

// TestACacheThatCannotBeUsed: search says which variable to set.
func TestACacheThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	closed := filepath.Join(t.TempDir(), "savant", "index")
	require.NoError(t, os.MkdirAll(closed, 0o755))
	require.NoError(t, os.Chmod(closed, 0o555))
	for _, cache := range []string{file, filepath.Dir(filepath.Dir(closed)), "relative"} {
		m := serveMortal(t, newProject(t), "XDG_CACHE_HOME="+cache)
		m.place("seen.md", "the zebra\n")
		m.fails(fault.ToolFailed, "context.search", object{"query": "zebra"}, "set XDG_CACHE_HOME to the absolute path of a writable folder")
	}
}

// TestLogsThatAreDeletedComeBack: under a server that runs on, with one warning.
func TestLogsThatAreDeletedComeBack(t *testing.T) {
	t.Parallel()
	folder := newProject(t)
	m := serveMortal(t, folder, "LOG_LEVEL=warn", "SLOW_THRESHOLD_MS=0") // or a slow call would be a warning, too
	plan := func(run string) {
		m.call("think.plan", object{"workflow": "hello", "run_id": run, "params": object{"name": "Ada"}})
	}
	traced := func(run string) func() bool {
		return func() bool {
			trace, _ := os.ReadFile(filepath.Join(folder, "logs", "agent_trace.log"))
			readable, _ := os.ReadFile(filepath.Join(folder, "logs", "agent_runtime.log")) // is written last
			return strings.Count(string(trace), `"run_id":"`+run+`"`) >= 2 &&              // begun and completed
				strings.Contains(string(readable), " "+run+" tool_call(think.plan) ")
		}
	}
	plan("r1")
	require.Eventually(t, traced("r1"), hang, 10*time.Millisecond)
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "logs")))
	plan("r2")
	plan("r3")
	require.Eventually(t, traced("r2"), hang, 10*time.Millisecond)
	require.Eventually(t, traced("r3"), hang, 10*time.Millisecond)
	require.NoError(t, m.server.stdin.Close())
	require.NoError(t, m.server.wait(t))
	logged, err := os.ReadFile(filepath.Join(folder, "logs", "savant.log"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(logged), `"level":"WARN"`), string(logged))
	require.Contains(t, string(logged), "was deleted or moved")
}

// TestWorkflowsThatCannotBeListed: what is bundled is not all there is, nor does
// it take the place of what cannot be read.
func TestWorkflowsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	m := serveMortal(t, newProject(t))
	m.place("workflows/own.yaml", "name: own\nversion: \"1\"\nsteps: [{id: a, call: llm.generate, input_template: {task: x}}]\n")
	require.NotContains(t, m.call("think.workflows.list", object{}), `"note"`)
	m.permit("workflows", 0o311)
	defer m.permit("workflows", 0o755)
	answer := m.call("think.workflows.list", object{})
	require.Contains(t, answer, "the folder workflows cannot be listed, so its files are missing here: permission denied; make it readable")
	require.NotContains(t, answer, `"own"`)
	m.fails(fault.YAMLSchemaViolation, "think.plan", object{"workflow": "hello"}, "workflows/hello.yaml cannot be read: permission denied")
}

// TestAFullDiskIsReported: the error says what was not saved and what to do, without a
// path of the machine.
func TestAFullDiskIsReported(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	if err := exec.Command(strace, "-f", "-o", os.DevNull, "-e", "inject=fsync:error=ENOSPC", "true").Run(); err != nil {
		t.Skip("strace may not trace here:", err)
	}
	folder := newProject(t)
	command := exec.Command(strace, "-f", "-qq", "-o", os.DevNull, "-e", "signal=none", "-e", "inject=fsync,fdatasync:error=ENOSPC", "savant", "mcp")
	m := &mortal{t: t, folder: folder, server: startServer(t, command, folder, "MCP_SERVICE=all", "XDG_CACHE_HOME="+t.TempDir())}
	const advice = " was not saved: no space left on device; the disk is full: make room, then repeat the call"
	m.fails(fault.StateNotSaved, "think.plan", object{"workflow": "hello", "params": object{"name": "Ada"}}, ".savant"+advice)
	m.fails(fault.StateNotSaved, "context.memory_write", object{"name": "n", "text": "t"}, ".savant/memory/n.md"+advice)
	m.fails(fault.StateNotSaved, "agent.run", object{"goal": "what is here?"}, ".savant/sessions"+advice)
	require.NoError(t, m.server.stdin.Close()) // a kill would end strace, and not what it traces
	require.NoError(t, m.server.wait(t))
}

// TestAServerThatCannotWriteIsNotReady: /readyz says so while runs can be read but none can go on.
func TestAServerThatCannotWriteIsNotReady(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := filepath.Join(t.TempDir(), "limited") // a write over the limit fails, as on a full disk
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\ntrap '' XFSZ\nexec savant \"$@\"\n"), 0o700))
	s := serveProgram(t, program, folder)
	_, answer := s.callHTTP(t, "", "think.plan", object{"workflow": "hello", "params": object{"name": "Ada"}})
	require.Contains(t, answer, "instruction")
	status, body := s.get(t, "/readyz")
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, unix.Prlimit(s.command.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 512, Max: unix.RLIM_INFINITY}, nil))
	status, body = s.get(t, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.JSONEq(t, `{"status": "failed", "error": "STATE_NOT_SAVED"}`, body)
	require.NoError(t, unix.Prlimit(s.command.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}, nil))
	status, body = s.get(t, "/readyz")
	require.Equal(t, http.StatusOK, status, body)
	left, err := filepath.Glob(filepath.Join(folder, ".savant", "state", "*.tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}

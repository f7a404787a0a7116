//go:build unix

package program

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	signals "os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/filelock"
)

// unhung runs a command that must end by itself.
func unhung(t *testing.T, folder string, args ...string) {
	t.Helper()
	command := exec.Command("savant", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "XDG_CACHE_HOME="+t.TempDir(), "SAVANT_HTTP_TOKENS="+filepath.Join(folder, "tokens.json"))
	killed := time.AfterFunc(hang/6, func() { _ = command.Process.Kill() })
	text, _ := command.CombinedOutput() // whether it fails does not matter
	require.True(t, killed.Stop(), "savant %v hangs: %s", args, text)
}

// TestNoPipeHangsTheProgram puts a pipe, which nobody writes or reads, in the place
// of each file that a folder can bring.
func TestNoPipeHangsTheProgram(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	look, list, run := []string{"tools"}, []string{"workflows", "list"}, []string{"workflows", "run", "hello", "--name", "r1"}
	check, prune, sessions := []string{"state", "check", "--all"}, []string{"state", "prune", "--older-than", "1h"}, []string{"runs", "list"}
	status, tree := []string{"call", "git.status"}, []string{"call", "context.search", "--args", `{"query":"swordfish"}`}
	begin := []string{"init", "--yes"}
	remember, recall := []string{"call", "context.memory_write", "--args", `{"name":"notes","text":"x"}`}, []string{"call", "context.memory_search", "--args", `{"query":"x"}`}
	for name, commands := range map[string][][]string{
		"logs/savant.log": {look, run}, "logs/agent_trace.log": {status, {"runs", "trace", "x"}}, "logs/.gitignore": {look}, "logs": {look, run}, "config/settings.json": {look},
		".gitignore": {status, tree}, "sub/.gitignore": {tree}, ".git/info/exclude": {status, tree}, ".git/HEAD": {status, tree}, ".git/config": {status, tree}, ".git": {status, tree},
		"sub/deep/.gitignore": {status}, ".savant/.gitignore": {status, tree}, "node_modules/.gitignore": {tree},
		"package.json": {begin}, "pyproject.toml": {begin}, "Makefile": {begin}, "go.mod": {begin},
		"workflows/hello.yaml": {list, run, {"workflows", "validate"}}, "workflows": {list}, "schemas/x.json": {list, {"workflows", "validate"}}, "schemas": {list, {"workflows", "validate"}},
		"prompts.yml": {{"run", "hello"}}, "prompts/system.md": {{"run", "hello"}},
		".savant/mcp.json": {look, {"engines", "status"}}, ".savant/mcp.lock.json": {look}, ".savant/mcp.lock": {look}, ".savant/ci.yaml": {look, {"call", "ci.run"}},
		".savant/memory/notes.md": {remember, recall}, ".savant/memory": {remember, recall}, ".savant/claims": {run, prune}, ".savant/receipts": {run, prune}, ".savant/artifacts": {run, prune},
		".savant/trash": {prune, {"state", "restore", "r1"}}, ".savant/sessions": {sessions, {"run", "hello"}}, ".savant/sessions/s1.journal": {sessions, {"runs", "show", "s1"}},
		".savant/state/hello/r1.journal": {run, check}, ".savant/state/hello/r1.json": {run, check}, ".savant/state/hello.json": {run}, ".savant/state/.log/a.log": {run}, ".savant/state": {run, list},
		"rules/x.cases.yaml": {{"rules", "test"}}, "rules/x.yaml": {{"rules", "check"}, {"rules", "test"}},
		// A pipe that a person names is told, too: what is to be read from one comes by stdin.
		"file.yaml": {{"state", "import", "file.yaml"}, {"adopt", "file.yaml"}, {"call", "git.status", "--args", "@file.yaml"}, {"rules", "test", "file.yaml"}, {"rules", "try", "--session", "file.yaml"},
			{"rules", "new", "x", "--from-openapi", "file.yaml"}, {"reasoning", "decide", "--request", "@file.yaml"}, {"run", "--agent-file", "file.yaml"}, {"proof", "lint", "file.yaml"},
			{"workflows", "run", "hello", "--params", "@file.yaml"}, {"workflows", "dry", "hello", "--answers", "file.yaml"}, {"workflows", "validate", "file.yaml"}, {"workflows", "add", "./file.yaml"}},
		"place":      {{"tools", "--path", "place"}, {"tools", "--repos", "place"}, {"call", "git.status", "--git-roots", "place"}, {"mcp", "--path", "place"}, {"workflows", "pack", "-o", "place/x.tgz"}, {"proof", "r1", "-o", "place/x"}},
		"pipe.proof": {{"verify", "pipe.proof"}, {"verify", "r1", "--key", "pipe.proof"}, {"proof", "check", "pipe.proof", "--commit", "HEAD"}}, "tokens.json": {{"token", "list"}, {"token", "add", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, exec.Command("git", "init", "-q", "--template=", folder).Run())
			require.NoError(t, os.WriteFile(filepath.Join(folder, "a.txt"), []byte("swordfish\n"), 0o600))
			at := filepath.Join(folder, filepath.FromSlash(name))
			require.NoError(t, os.RemoveAll(at))
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
			require.NoError(t, syscall.Mkfifo(at, 0o644))
			for _, args := range commands {
				unhung(t, folder, args...)
			}
		})
	}
}

// TestASignalEndsWhateverIsWaitedFor: input that does not come, a lock, a pipe.
func TestASignalEndsWhateverIsWaitedFor(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	locked := filepath.Join(folder, ".savant", "memory")
	require.NoError(t, os.MkdirAll(locked, 0o755))
	holder, err := os.Open(locked)
	require.NoError(t, err)
	defer holder.Close()
	free, err := filelock.TryLock(holder, true)
	require.True(t, free && err == nil)
	for _, args := range [][]string{{"call", "context.memory_write", "--args", `{"name":"notes","text":"x"}`}, {"call", "git.status", "--args", "-"}, {"state", "import", "-"}, {"mcp"}, {"run", "-"}} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			if signals.Ignored(signal) {
				continue // the tests were started by what ignores it, as nohup does, and so are their children
			}
			command := exec.Command("savant", append(args, "--path", folder)...)
			stdin, err := command.StdinPipe() // nothing comes
			require.NoError(t, err)
			command.Env = append(os.Environ(), "LOG_LEVEL=debug")
			stderr, err := command.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, command.Start())
			if args[1%len(args)] == "context.memory_write" { // it tells that it waits
				lines := bufio.NewScanner(stderr)
				for lines.Scan() && !strings.Contains(lines.Text(), "another process holds the lock of") {
					continue
				}
				require.Contains(t, lines.Text(), ".savant/memory")
			}
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			killed := time.AfterFunc(hang, func() { _ = command.Process.Kill() })
			require.NoError(t, command.Process.Signal(signal))
			_ = command.Wait()
			require.True(t, killed.Stop(), "savant %v does not end", args)
			_ = stdin.Close() // waiting closed it
		}
	}
}

package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/cmd/savant/cli"
	"savant/engines/mcpclient"
	"savant/think"
)

// overHTTP is `savant mcp --http` in a process of its own.
type overHTTP struct {
	command *exec.Cmd
	address string // of MCP
	stdout  *bytes.Buffer
	mu      sync.Mutex
	logged  strings.Builder
	read    chan struct{} // closed when stderr has ended
}

// serveHTTP starts a server at a free port of this machine and waits until it listens.
func serveHTTP(t testing.TB, folder string, environment ...string) *overHTTP {
	t.Helper()
	return serveProgram(t, "savant", folder, environment...)
}

// serveProgram is serveHTTP for a program with other tools.
func serveProgram(t testing.TB, program, folder string, environment ...string) *overHTTP {
	t.Helper()
	s := &overHTTP{command: exec.Command(program, "mcp", "--http", "127.0.0.1:0", "--path", folder), stdout: &bytes.Buffer{}, read: make(chan struct{})}
	s.command.Env = append(os.Environ(), append([]string{"XDG_CACHE_HOME=" + t.TempDir()}, environment...)...)
	s.command.Stdout = s.stdout
	stderr, err := s.command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.command.Start())
	t.Cleanup(func() { // until it has ended it writes into the test's folder
		_ = s.command.Process.Kill()
		<-s.read
		_ = s.command.Wait()
	})
	found := make(chan string, 1)
	go func() {
		defer close(s.read)
		defer close(found)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.mu.Lock()
			s.logged.WriteString(lines.Text() + "\n")
			s.mu.Unlock()
			if _, address, is := strings.Cut(lines.Text(), "savant: serving MCP at "); is {
				found <- address
			}
		}
	}()
	s.address = <-found
	require.NotEmpty(t, s.address, s.log())
	return s
}

func (s *overHTTP) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logged.String()
}

// end tells the server to end, and returns its exit code.
func (s *overHTTP) end(t testing.TB) int {
	t.Helper()
	require.NoError(t, s.command.Process.Signal(syscall.SIGTERM))
	<-s.read
	_ = s.command.Wait()
	return s.command.ProcessState.ExitCode()
}

// callHTTP calls a tool without a client of MCP and returns the status and the body.
func (s *overHTTP) callHTTP(t testing.TB, token, tool string, args any) (int, string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": args}})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// get asks for a path of the server without a token.
func (s *overHTTP) get(t testing.TB, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.address, "/mcp")+path, nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// balanced is the address of a load balancer that gives each request to the next server.
func balanced(t testing.TB, servers ...*overHTTP) string {
	var turn atomic.Int64
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		target, err := url.Parse(servers[int(turn.Add(1))%len(servers)].address)
		if err == nil {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		}
	}}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL + "/mcp"
}

// Any of the servers of a folder answers any request: 64 clients at once, each of
// whose requests goes to the next server.
func TestManyClientsOfTwoServers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	one, other := serveHTTP(t, folder), serveHTTP(t, folder)
	address := balanced(t, one, other)
	const clients = 64
	var all sync.WaitGroup
	failed := make(chan error, clients)
	for n := range clients {
		all.Go(func() { failed <- greetOverHTTP(t.Context(), address, fmt.Sprintf("r%d", n)) })
	}
	all.Wait()
	for range clients {
		require.NoError(t, <-failed)
	}
	status, body := one.callHTTP(t, "", "think.state.list", map[string]any{"limit": 300})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, clients, strings.Count(body, `\"status\":\"done\"`), body)
	for _, server := range []*overHTTP{one, other} {
		require.Equal(t, cli.ExitOK, server.end(t), server.log())
		require.Empty(t, server.stdout.String(), "stdout is for nobody here")
	}
}

// greetOverHTTP goes through the workflow hello as a client of its own.
func greetOverHTTP(ctx context.Context, address, run string) error {
	client, err := mcpclient.ConnectHTTP(ctx, address, nil, mcpclient.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := stepOverHTTP(ctx, client, "think.plan", map[string]any{"workflow": "hello", "params": map[string]any{"name": "Ada"}, "run_id": run}); err != nil {
		return err
	}
	if _, err := stepOverHTTP(ctx, client, "think.next", map[string]any{"run_id": run, "step_id": "greet", "result_snapshot": map[string]any{"text": "Good to see you, Ada!"}}); err != nil {
		return err
	}
	reply, err := stepOverHTTP(ctx, client, "think.next", map[string]any{"run_id": run, "step_id": "reply", "result_snapshot": map[string]any{"text": "And you!"}})
	if err == nil && !reply.Done {
		err = fmt.Errorf("%s is not done", run)
	}
	return err
}

func stepOverHTTP(ctx context.Context, client *mcpclient.Client, tool string, args map[string]any) (reply think.Reply, err error) {
	result, err := client.Call(ctx, tool, args)
	if err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(result, &reply)
}

// A token is bound to its folder: its bearer meets no run of another.
func TestTokensOfTwoFolders(t *testing.T) {
	t.Parallel()
	configuration := "XDG_CONFIG_HOME=" + t.TempDir()
	folders := map[string]string{"one": t.TempDir(), "two": t.TempDir()}
	tokens := map[string]string{}
	for name, folder := range folders {
		command := exec.Command("savant", "token", "add", name, "--folder", folder)
		command.Env = append(os.Environ(), configuration)
		out, err := command.Output()
		require.NoError(t, err)
		tokens[name] = strings.TrimSpace(string(out))
	}
	s := serveHTTP(t, t.TempDir(), configuration, "LOG_LEVEL=debug")
	status, body := s.callHTTP(t, "", "think.state.list", map[string]any{})
	require.Equal(t, http.StatusUnauthorized, status, body)
	for name := range folders {
		status, body = s.callHTTP(t, tokens[name], "think.plan", map[string]any{"workflow": "hello", "params": map[string]any{"name": name}, "run_id": "same"})
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, "Greet "+name)
		require.FileExists(t, filepath.Join(folders[name], ".savant", "state", "hello", "same.journal"))
	}
	status, body = s.callHTTP(t, tokens["one"], "agent.run", map[string]any{"goal": "x"})
	require.Equal(t, http.StatusForbidden, status, body)
	revoke := exec.Command("savant", "token", "revoke", "one")
	revoke.Env = append(os.Environ(), configuration)
	require.NoError(t, revoke.Run())
	status, _ = s.callHTTP(t, tokens["one"], "think.state.list", map[string]any{})
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, cli.ExitOK, s.end(t), s.log())
	for name, token := range tokens {
		require.NotContains(t, s.log(), token)
		logs, err := filepath.Glob(filepath.Join(folders[name], "logs", "*"))
		require.NoError(t, err)
		for _, each := range logs {
			data, err := os.ReadFile(each)
			require.NoError(t, err)
			require.NotContains(t, string(data), token, each)
		}
	}
}

// Connections that are cut, and what is no HTTP, leave the server as it was.
func TestConnectionsThatAreCut(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, t.TempDir())
	parsed, err := url.Parse(s.address)
	require.NoError(t, err)
	for _, sent := range []string{"", "\x16\x03\x01", "GET", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\"",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n{",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}"} {
		for range 5 {
			connection, err := net.Dial("tcp", parsed.Host)
			require.NoError(t, err)
			_, err = io.WriteString(connection, sent)
			require.NoError(t, err)
			require.NoError(t, connection.Close())
		}
	}
	status, body := s.callHTTP(t, "", "think.plan", map[string]any{"workflow": "hello", "params": map[string]any{"name": "Ada"}})
	require.Equal(t, http.StatusOK, status, body)
	require.Equal(t, cli.ExitOK, s.end(t), s.log())
	require.NotContains(t, s.log(), "panic")
}

// The address of MCP has the metrics, and with --hub the hub, which needs its own session.
func TestMCPOverHTTPHasTheMetricsAndTheHub(t *testing.T) {
	t.Parallel()
	for _, withHub := range []bool{false, true} {
		folder := t.TempDir()
		args := []string{"mcp", "--http", "127.0.0.1:0", "--path", folder}
		if withHub {
			args = append(args, "--hub", "127.0.0.1:0")
		}
		command := exec.Command("savant", args...)
		command.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
		stderr, err := command.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, command.Start())
		t.Cleanup(func() { _, _ = command.Process.Kill(), command.Wait() })
		said, link := bufio.NewScanner(stderr), ""
		address := ""
		for said.Scan() && !strings.Contains(said.Text(), "any program of this machine") {
			if _, found, ok := strings.Cut(said.Text(), "serving MCP at "); ok {
				address = strings.TrimSuffix(found, "/mcp")
			}
			if _, found, ok := strings.Cut(said.Text(), "open it once with "); ok {
				link = found
			}
		}
		get := func(url string) (int, string) {
			response, err := http.Get(url)
			require.NoError(t, err)
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			return response.StatusCode, string(text)
		}
		status, text := get(address + "/metrics")
		require.Equal(t, http.StatusOK, status, text)
		require.Contains(t, text, "savant_")
		status, _ = get(address + "/healthz")
		require.Equal(t, http.StatusOK, status)
		status, _ = get(address + "/runs")
		require.Equal(t, map[bool]int{false: http.StatusNotFound, true: http.StatusUnauthorized}[withHub], status)
		status, _ = get(address + "/mcp")
		require.NotEqual(t, http.StatusNotFound, status)
		require.Equal(t, withHub, strings.HasPrefix(link, address+"/enter"), link)
	}
}

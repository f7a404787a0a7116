package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReasoningIsServedToOthers has one program ask another, with a token.
func TestReasoningIsServedToOthers(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	told, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"reasoning", "serve", "--address", "127.0.0.1:0"}, []string{"REASONING_API_TOKEN=sekrit"}, strings.NewReader(""), io.Discard, stderr)
	}()
	lines := bufio.NewReader(told)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, lines) }() // it says what it has to say
	defer stderr.Close()
	address := strings.TrimSpace(strings.TrimPrefix(line, "serving "))

	const request = `{"session_id":"s","run_id":"r1","step":1,"goal":"the loop","persona":{},"driver":{},"rules":[],"tools":[],"policy":{},
		"memory":{"steps":[]},"last_output":[],"limits":{}}`
	for _, c := range []struct {
		token  string
		code   int
		stdout string
		stderr string
	}{{"sekrit", exitOK, `"model": "offline-planner"`, ""}, {"other", exitConfiguration, "", "HTTP 401"}} {
		var out, complaint bytes.Buffer
		code := run(t.Context(), []string{"reasoning", "decide"}, []string{"REASONING_API_URL=" + address, "REASONING_API_TOKEN=" + c.token},
			strings.NewReader(request), &out, &complaint)
		require.Equal(t, c.code, code, complaint.String())
		require.Contains(t, out.String(), c.stdout)
		require.Contains(t, complaint.String(), c.stderr)
		require.NotContains(t, complaint.String(), "sekrit")
	}
	// A page whose name leads here names itself, and has no use of it.
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(request))
	require.NoError(t, err)
	asked.Host = "rebound.example"
	asked.Header.Set("Authorization", "Bearer sekrit")
	answer, err := http.DefaultClient.Do(asked)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	stop()
	require.Equal(t, exitOK, <-ended)
}

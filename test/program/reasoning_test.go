package program

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// TestReasoningIsServedToOthers has one program ask another, with a token.
func TestReasoningIsServedToOthers(t *testing.T) {
	t.Parallel()
	address, stop := serveReasoning(t, "SAVANT_PATH="+t.TempDir(), "REASONING_API_TOKEN=sekrit", "LLM_PROVIDER=offline")
	const request = `{"session_id":"s","run_id":"r1","step":1,"goal":"the loop","persona":{},"driver":{},"rules":[],"tools":[],"policy":{},
		"memory":{"steps":[]},"last_output":[],"limits":{}}`
	for _, c := range []struct {
		token  string
		code   int
		stdout string
		stderr string
	}{{"sekrit", exitOK, `"model": "offline-planner"`, ""}, {"other", exitConfiguration, "", "HTTP 401"}} {
		var out, complaint bytes.Buffer
		code := run(t.Context(), []string{"reasoning", "decide"}, []string{"SAVANT_PATH=" + t.TempDir(), "REASONING_API_URL=" + address, "REASONING_API_TOKEN=" + c.token},
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
}

// serveReasoning starts `savant reasoning serve`, and returns its address and a function
// that ends it.
func serveReasoning(t *testing.T, environment ...string) (address string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	told, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"reasoning", "serve", "--address", "127.0.0.1:0"}, environment, strings.NewReader(""), io.Discard, stderr)
	}()
	lines := bufio.NewReader(told)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, lines) }() // it says what it has to say
	return strings.TrimSpace(strings.TrimPrefix(line, "serving ")), func() {
		cancel()
		require.Equal(t, exitOK, <-ended)
		require.NoError(t, stderr.Close())
	}
}

// TestAServiceThatIsStartedAgainKeepsItsAnswers: a question that was answered before is not
// paid for again, and each call of a model is in the trace of the service.
func TestAServiceThatIsStartedAgainKeepsItsAnswers(t *testing.T) {
	t.Parallel()
	o := newOllama(t, map[string][]string{"small": {`{"action":"finish","final":"the answer"}`}})
	folder := t.TempDir()
	for range 2 {
		address, stop := serveReasoning(t, "SAVANT_PATH="+folder, "OLLAMA_HOST="+o.URL, "SLM_MODEL=small")
		caller := t.TempDir()
		var out, complaint bytes.Buffer
		code := run(t.Context(), []string{"reasoning", "decide"}, []string{"SAVANT_PATH=" + caller, "REASONING_API_URL=" + address},
			strings.NewReader(`{"session_id":"s","run_id":"r1","step":1,"goal":"the loop","persona":{},"driver":{},"rules":[],"tools":[],"policy":{},
				"memory":{"steps":[]},"last_output":[],"limits":{}}`), &out, &complaint)
		require.Equal(t, exitOK, code, complaint.String())
		require.Contains(t, out.String(), `"final": "the answer"`)
		asked := ofType(traceOf(t, caller), telemetry.LLMCall)
		require.Len(t, asked, 1, "whoever asks has it in the trace, too")
		require.Equal(t, "r1", asked[0].RunID)
		stop()
	}
	require.Equal(t, []string{"small"}, o.models(), "the model is paid once")
	calls := ofType(traceOf(t, folder), telemetry.LLMCall)
	require.Len(t, calls, 1)
	require.Equal(t, "r1", calls[0].RunID)
	require.Equal(t, 1, calls[0].Step)
	require.Equal(t, "ollama:small", calls[0].Model)
	require.Len(t, ofType(traceOf(t, folder), telemetry.PromptSnapshot), 1)
}

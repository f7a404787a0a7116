package program

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A person sees why a command waits for a model, whichever command it is.
func TestAPersonSeesWhyAModelIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"run", "--skip-git", "What is it?"}, {"workflows", "run", "hello"},
		{"reasoning", "decide", "--request", `{"session_id":"s","run_id":"r","step":1,"goal":"x","persona":{},"driver":{},"rules":[],"tools":[],"policy":{},"memory":{"steps":[]},"last_output":[],"limits":{}}`}} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) == 1 {
				w.Header().Set("Retry-After-Ms", "500")
				http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
				return
			}
			fmt.Fprint(w, `{"choices":[{"message":{"content":"{\"action\":\"finish\",\"final\":\"{\\\"text\\\":\\\"Hello, you!\\\"}\"}"},"finish_reason":"stop"}]}`)
		}))
		var stdout, stderr strings.Builder
		run(t.Context(), args, []string{"SAVANT_PATH=" + t.TempDir(), "SLM_MODEL=openai:m", "OPENAI_BASE_URL=" + server.URL + "/v1"}, strings.NewReader(""), &stdout, &stderr)
		server.Close()
		require.GreaterOrEqual(t, asked.Load(), int32(2), args)
		require.Contains(t, stderr.String(), "slow down", args)
	}
}

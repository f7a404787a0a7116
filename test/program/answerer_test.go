package program

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
	"savant/reasoning"
)

// The steps of a driven workflow that want a model go to the Reasoning API that
// is set, without secrets; a refused answer comes again with what was wrong.
func TestTheReasoningAPIAnswersGenerateSteps(t *testing.T) {
	t.Parallel()
	answers := []string{`{"txt":"Hello"}`, "```json\n{\"text\":\"Hello, world!\"}\n```", `{"text":"Hello!"}`}
	var asked []reasoning.Request
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request reasoning.Request
		if json.NewDecoder(r.Body).Decode(&request) != nil || len(asked) == len(answers) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		asked = append(asked, request)
		_ = json.NewEncoder(w).Encode(reasoning.Intent{Action: reasoning.ActionFinish, Final: answers[len(asked)-1]})
	}))
	defer api.Close()
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"workflows", "run", "hello", "--param", "name=" + plantedSecret},
		[]string{"SAVANT_PATH=" + t.TempDir(), "REASONING_API_URL=" + api.URL, "MY_API_TOKEN=" + plantedSecret},
		strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitOK, code, stderr.String())
	require.Contains(t, stdout.String(), "greeting: Hello, world!\n")
	require.Contains(t, stderr.String(), "refused greet llm.generate (attempt 1): VALIDATION_FAILED")
	require.Len(t, asked, 3)
	for i, request := range asked {
		require.True(t, request.Policy.MustFinish)
		require.Contains(t, request.Driver.Text, `"maxLength"`)
		require.Contains(t, request.Goal, redact.Mark)
		require.NotContains(t, request.Goal, plantedSecret)
		require.Equal(t, i == 1, len(request.Policy.Notes) > 0, request.Policy.Notes)
	}
	require.Contains(t, asked[2].Goal, "Hello, world!")
}

// One that cannot be reached leaves the run where it is: no answer is made up.
func TestAReasoningAPIThatIsGoneLeavesTheStep(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.NotFoundHandler())
	api.Close()
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"workflows", "run", "hello", "--name", "h1"}, []string{"SAVANT_PATH=" + t.TempDir(),
		"REASONING_API_URL=" + api.URL, "REASONING_API_RETRIES=0"}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exitPending, code, stderr.String())
	require.Contains(t, stderr.String(), "REASONING_UNAVAILABLE")
	require.Contains(t, stderr.String(), "savant workflows run hello --run-id h1")
}

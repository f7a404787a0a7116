package service_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning/service"
)

// A page at a name that somebody else's name server points at this machine is not
// served.
func TestOtherHostsAreRefused(t *testing.T) {
	t.Parallel()
	served := service.ForHosts(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), "box.example", "")
	for host, status := range map[string]int{"127.0.0.1:8732": 418, "localhost": 418, "LOCALHOST:1": 418, "[::1]:8732": 418, "192.168.1.5:80": 418, "box.example:8732": 418, "BOX.example.": 418,
		"app.localhost": 418, "evil.example:8732": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403, "": 403, "box.example.evil.example": 403} {
		request := httptest.NewRequest(http.MethodPost, "/agent_intent", strings.NewReader("{}"))
		request.Host = host
		answer := httptest.NewRecorder()
		served.ServeHTTP(answer, request)
		require.Equal(t, status, answer.Code, host)
		if status == http.StatusForbidden {
			require.Contains(t, answer.Body.String(), "TOOL_DENIED")
		}
	}
}

package proofs

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// TestAnAuthorityThatDoesNotAnswer asks addresses that give no time stamp.
func TestAnAuthorityThatDoesNotAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "application/timestamp-query", r.Header.Get("Content-Type"))
		if r.URL.Path == "/busy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte("no time stamp"))
	}))
	defer server.Close()
	answer, err := authority(server.URL).Stamp(t.Context(), []byte("request"))
	require.NoError(t, err)
	require.Equal(t, "no time stamp", string(answer))
	for address, code := range map[string]fault.Code{server.URL + "/busy": fault.ToolFailed, "http://127.0.0.1:1": fault.ToolFailed, "://": fault.InvalidParams} {
		_, err := authority(address).Stamp(t.Context(), []byte("request"))
		require.ErrorIs(t, err, code, address)
	}
}

package mcpclient

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoRefusesToSpeak: whatever is no stream is one that will not come.
func TestWhoRefusesToSpeak(t *testing.T) {
	for _, c := range []struct {
		method, resumed string
		status          int
		kind            string
		refuses         bool
	}{
		{http.MethodGet, "", 200, "text/event-stream; charset=utf-8", false},
		{http.MethodGet, "", 200, "text/html", true},
		{http.MethodGet, "", 204, "", true},
		{http.MethodGet, "", 401, "text/event-stream", true},
		{http.MethodGet, "", 405, "", true},
		{http.MethodGet, "", 500, "application/json", true},
		{http.MethodGet, "", 404, "", false}, // the session is over: it is asked for again with the next
		{http.MethodGet, "7", 500, "", false},
		{http.MethodPost, "", 200, "application/json", false},
		{http.MethodPost, "", 500, "", false},
	} {
		request := &http.Request{Method: c.method, Header: http.Header{}}
		if c.resumed != "" {
			request.Header.Set("Last-Event-ID", c.resumed)
		}
		response := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}}
		require.Equal(t, c.refuses, refusesToSpeak(request, response), "%+v", c)
	}
}

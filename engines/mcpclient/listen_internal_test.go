package mcpclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server whose answer to the request for its own messages is no stream of events, or a stream
// without any, is not asked again: listen returns.
func TestWhoHasNoStreamIsNotAskedAgain(t *testing.T) {
	for _, c := range []struct {
		status     int
		kind, body string
	}{
		{200, "text/html", "<p>"}, {204, "", ""}, {401, typeEvents, ""}, {404, "", ""}, {405, "", ""}, {500, "application/json", "{}"},
		{200, typeEvents, strings.Repeat(": ping\n\n", 1<<20/4)},
	} {
		t.Run(fmt.Sprint(c.status, c.kind), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}))
			t.Cleanup(server.Close)
			client := newClient(t.Context(), Options{})
			defer client.end()
			h := &httpLink{client: client, address: server.URL, sender: http.DefaultClient}
			h.listen()
			require.NoError(t, client.life.Err())
		})
	}
}

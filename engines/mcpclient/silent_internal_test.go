package mcpclient

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
)

// slowServer answers each request with parts of a body, some time apart, and then neither goes on nor
// ends it.
type slowServer struct {
	kind  string
	parts []string
	pause time.Duration
	first string // the stream that ends, before the parts come in a resumed one
}

func (s slowServer) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.first != "" && request.Method == http.MethodPost {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.kind}}, Body: io.NopCloser(strings.NewReader(s.first)), Request: request}, nil
	}
	body, out := io.Pipe()
	go func() {
		for _, part := range s.parts {
			time.Sleep(s.pause)
			_, _ = io.WriteString(out, part)
		}
		<-request.Context().Done()
		_ = out.CloseWithError(request.Context().Err())
	}()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {s.kind}}, Body: body, Request: request}, nil
}

// An answer over HTTP that its server cuts within a message is told within half a minute. One that
// comes late, with signs of life or none before it, is read.
func TestAnswersThatAreCutOverHTTP(t *testing.T) {
	const begin, end = `{"jsonrpc":"2.0","id":1,"result":{"content":[`, `]}}`
	const resumed = "id: 7\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"
	for name, c := range map[string]struct {
		slowServer
		cut bool
	}{
		"an event":                  {slowServer{typeEvents, []string{"event: message\ndata: " + begin}, 0, ""}, true},
		"a body":                    {slowServer{"application/json", []string{begin}, 0, ""}, true},
		"a late event":              {slowServer{typeEvents, []string{": wait\n\n", "data: " + begin + end + "\n\n"}, time.Hour, ""}, false},
		"a late body":               {slowServer{"application/json", []string{" ", " ", begin + end + "\n"}, 20 * time.Second, ""}, false},
		"a slow body":               {slowServer{"application/json", []string{begin, end}, 24 * time.Second, ""}, false},
		"a body that does not end":  {slowServer{"application/json", []string{begin + end}, 0, ""}, false},
		"an event that does not":    {slowServer{typeEvents, []string{"data: " + begin + end}, 0, ""}, false},
		"a body in lines":           {slowServer{"application/json", []string{"{\n" + begin[1:] + "\n"}, 0, ""}, true},
		"an event without its end":  {slowServer{typeEvents, []string{"data: " + begin + end + "\r\n"}, 0, ""}, false},
		"comments":                  {slowServer{typeEvents, []string{": wait\r\n", ": wait\r", "data: " + begin + end + "\r\n", "\r\n"}, time.Minute, ""}, false},
		"a slow event, and spaces":  {slowServer{typeEvents, []string{"data: " + begin, " ", end + "\n\n"}, 12 * time.Second, ""}, false},
		"an event cut after others": {slowServer{typeEvents, []string{"data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n", "data: " + begin}, time.Hour, ""}, true},
		"a resumed stream":          {slowServer{typeEvents, []string{"data: " + begin}, 0, resumed}, true},
		"a slow resumed stream":     {slowServer{typeEvents, []string{": wait\n", "data: " + begin + end + "\n\n"}, 24 * time.Second, resumed}, false},
		"a stream that is named":    {slowServer{typeEvents, []string{"retry: 500\n", "event: message\n", "data: " + begin + end + "\n\n"}, time.Minute, ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock runs ahead where all wait
				client := newClient(t.Context(), Options{})
				defer client.end()
				h := &httpLink{client: client, address: "http://far", sender: &http.Client{Transport: c.slowServer}}
				began := time.Now()
				answer, err := h.ask(t.Context(), "tools/call", nil)
				require.LessOrEqual(t, time.Since(began), time.Duration(len(c.parts))*c.pause+maxSilent+time.Second)
				if !c.cut {
					require.NoError(t, err)
					require.Equal(t, `1`, string(answer.ID))
					return
				}
				require.ErrorIs(t, err, fault.EngineOffline)
				require.ErrorContains(t, err, "no MCP message: \"{")
				require.ErrorContains(t, err, `\"id\":1`)
				require.Equal(t, "unknown", fault.From(err).Extra["outcome"])
			})
		})
	}
}

package mcpclient_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/mcpclient"
)

// streaming is a server whose answers to tools/call come in streams, and whose own messages in
// another. A session that its client ends is told.
type streaming struct {
	call, own func(w http.ResponseWriter, r *http.Request, id string)
	answers   chan string // to the server's requests
	ended     chan string
}

func (s *streaming) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var asked struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(body, &asked)
	switch {
	case r.Method == http.MethodDelete:
		s.ended <- r.Header.Get("Mcp-Session-Id")
	case r.Method == http.MethodGet && r.Header.Get("Mcp-Session-Id") == "s1" && r.Header.Get("Mcp-Protocol-Version") == "2025-06-18":
		w.Header().Set("Content-Type", "text/event-stream")
		s.own(w, r, r.Header.Get("Last-Event-ID"))
	case asked.Method == "initialize":
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s1")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, asked.ID)
	case asked.Method == "tools/call":
		w.Header().Set("Content-Type", "text/event-stream")
		s.call(w, r, string(asked.ID))
	case asked.Method == "" && len(body) > 0:
		s.answers <- string(body)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (s *streaming) connect(t *testing.T, options mcpclient.Options) *mcpclient.Client {
	t.Helper()
	s.answers, s.ended = make(chan string, 4), make(chan string, 1)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := mcpclient.ConnectHTTP(t.Context(), server.URL, nil, options)
	require.NoError(t, err)
	return c
}

// A stream that ends before the answer is asked for again from its last event on.
func TestClientOverHTTPResumesAStream(t *testing.T) {
	waiting := ""
	s := &streaming{call: func(w http.ResponseWriter, _ *http.Request, id string) {
		waiting = id
		fmt.Fprint(w, "id: 7\nretry: 1\ndata:\n\n")
	}}
	s.own = func(w http.ResponseWriter, r *http.Request, last string) {
		if last != "7" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"so\"}]}}\n\n", waiting)
	}
	c := s.connect(t, mcpclient.Options{})
	result, err := c.Invoke(t.Context(), "x", map[string]any{}, nil)
	require.NoError(t, err)
	require.Equal(t, "so", result.Text())
	require.NoError(t, c.Close())
	require.Equal(t, "s1", <-s.ended)
}

// What a server says in its own stream is heard, and its requests in either stream are
// answered.
func TestClientOverHTTPHearsTheServer(t *testing.T) {
	const request = "data: {\"jsonrpc\":\"2.0\",\"id\":%q,\"method\":\"ping\"}\n\n"
	changed := make(chan bool, 1)
	s := &streaming{own: func(w http.ResponseWriter, r *http.Request, _ string) {
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"+request, "own")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}}
	s.call = func(w http.ResponseWriter, _ *http.Request, id string) {
		fmt.Fprintf(w, request, "within")
		w.(http.Flusher).Flush()
		require.JSONEq(t, `{"jsonrpc":"2.0","id":"within","result":{}}`, <-s.answers)
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[]}}\n\n", id)
	}
	c := s.connect(t, mcpclient.Options{ToolsChanged: func() { changed <- true }})
	require.True(t, <-changed)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"own","result":{}}`, <-s.answers)
	_, err := c.Invoke(t.Context(), "x", map[string]any{}, nil)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

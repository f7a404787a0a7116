package mount_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

// remote is a server by Streamable HTTP, as the specification has it.
type remote struct {
	t *testing.T
	// session counts the sessions begun; the last is the one that is known.
	session atomic.Int64
	// modern has no initialize and no sessions.
	modern bool
	// wrong, when set, answers in the place of the server.
	wrong     http.HandlerFunc
	away      atomic.Pointer[http.HandlerFunc]
	changed   atomic.Bool
	cancelled atomic.Bool
	// speaks has the server offer a stream, on which it says what is sent here.
	speaks   chan string
	listened atomic.Int64
	refusal  int // how it refuses one; 0 is 405
	deleted  atomic.Bool
}

func (r *remote) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	if asked.Header.Get("Authorization") != "Bearer "+secret {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if away := r.away.Load(); away != nil {
		(*away)(w, asked)
		return
	}
	if r.wrong != nil {
		r.wrong(w, asked)
		return
	}
	switch asked.Method {
	case http.MethodDelete:
		r.deleted.Store(true)
		return
	case http.MethodPost:
	default:
		r.speak(w, asked)
		return
	}
	var said request
	if err := json.NewDecoder(asked.Body).Decode(&said); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	known := asked.Header.Get("Mcp-Session-Id") == fmt.Sprint("session-", r.session.Load())
	if !r.modern && said.Method != "initialize" && !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	r.answer(w, asked, said)
}

// speak is the stream of what the server says between answers.
func (r *remote) speak(w http.ResponseWriter, asked *http.Request) {
	r.listened.Add(1)
	if r.speaks == nil {
		w.WriteHeader(cmp.Or(r.refusal, http.StatusMethodNotAllowed))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	for {
		select {
		case said := <-r.speaks:
			fmt.Fprintf(w, "data: %s\n\n", said)
			w.(http.Flusher).Flush()
		case <-asked.Context().Done():
			return
		}
	}
}

func (r *remote) answer(w http.ResponseWriter, asked *http.Request, said request) {
	switch said.Method {
	case "initialize":
		if r.modern {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no initialize"}}`, said.ID)
			return
		}
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", r.session.Add(1)))
		reply(w, said, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"remote","version":"1"}}`)
	case "server/discover":
		reply(w, said, `{"supportedVersions":["2026-07-28"],"capabilities":{}}`)
	case "tools/list":
		description := "Echoes."
		if r.changed.Load() {
			description = "Other."
		}
		reply(w, said, `{"tools":[{"name":"echo","description":"`+description+`","inputSchema":{"type":"object"}}]}`)
	case "ping":
		reply(w, said, `{}`)
	case "tools/call":
		r.call(w, asked, said)
	case "notifications/cancelled":
		r.cancelled.Store(true)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func reply(w http.ResponseWriter, said request, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, said.ID, result)
}

// call answers as an event stream, with progress before the result.
func (r *remote) call(w http.ResponseWriter, asked *http.Request, said request) {
	if strings.Contains(string(said.Params.Arguments), "hang") {
		<-asked.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	switch arguments := string(said.Params.Arguments); {
	case strings.Contains(arguments, "silent"): // a stream that is opened, and has nothing
		w.(http.Flusher).Flush()
		<-asked.Context().Done()
		return
	case strings.Contains(arguments, "comments"):
		for {
			if _, err := io.WriteString(w, strings.Repeat(": ping\n\n", 1000)); err != nil {
				return
			}
		}
	case strings.Contains(arguments, "huge"):
		fmt.Fprintf(w, "data: %s\n\n", strings.Repeat("x", 17<<20))
		return
	}
	version := asked.Header.Get("Mcp-Protocol-Version") + " " + asked.Header.Get("Mcp-Method")
	if said.Params.Meta.Token != nil {
		fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":1,\"total\":2}}\n\n", said.Params.Meta.Token)
	}
	fmt.Fprintf(w, ": a comment\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":%q}]}}\n\n", said.ID, strings.TrimSpace(version))
}

// serveRemote mounts a remote server, with the secret in a header.
func serveRemote(t *testing.T, r *remote, more string) *world {
	t.Helper()
	r.t = t
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	w := newWorld(t, fmt.Sprintf(`{"mcpServers": {"far": {"url": "%s/mcp?key=queryhunter2", "headers": {"Authorization": "Bearer ${API_TOKEN}"}%s}}}`, server.URL, more))
	return w.open().discover()
}

func TestStreamableHTTP(t *testing.T) {
	r := &remote{}
	w := serveRemote(t, r, "")
	require.Equal(t, engines.Ready, w.status("far").State, w.status("far").Reason)
	require.JSONEq(t, `{"text":"2025-06-18"}`, w.called("far.echo", ""))

	var reports []float64
	call := engines.Call{Caller: engines.Caller{Progress: func(done, _ float64, _ string) { reports = append(reports, done) }}}
	_, err := w.registry.Invoke(t.Context(), call, "far.echo", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, []float64{1}, reports)

	r.session.Add(1) // the server forgets the session
	require.JSONEq(t, `{"text":"2025-06-18"}`, w.called("far.echo", ""))
	require.EqualValues(t, 3, r.session.Load())
	r.session.Add(1)
	r.changed.Store(true) // and is another when it is back
	_, err = w.call("far.echo", "")
	require.ErrorIs(t, err, fault.ToolChanged)
	w.close()
	require.True(t, r.deleted.Load(), "the session was not ended")
}

// TestAServerByHTTPSpeaksBetweenAnswers: a change of its tools is noticed without a
// call. A server without such a stream works, too.
func TestAServerByHTTPSpeaksBetweenAnswers(t *testing.T) {
	r := &remote{speaks: make(chan string)}
	w := serveRemote(t, r, "")
	require.Equal(t, engines.Ready, w.status("far").State)
	r.changed.Store(true)
	r.speaks <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	require.Eventually(t, func() bool { return strings.Contains(w.status("far").Reason, "savant engines approve far") }, time.Minute, 10*time.Millisecond)
	w.close()

	for _, refusal := range []int{http.StatusMethodNotAllowed, http.StatusInternalServerError, http.StatusUnauthorized, http.StatusOK} {
		silent := &remote{refusal: refusal}
		w := serveRemote(t, silent, "")
		require.Eventually(t, func() bool { return silent.listened.Load() > 0 }, time.Minute, time.Millisecond)
		require.NotEmpty(t, w.called("far.echo", ""), "HTTP %d", refusal)
		w.close()
	}
}

func TestStreamableHTTPWithoutInitialize(t *testing.T) {
	w := serveRemote(t, &remote{modern: true}, "")
	require.JSONEq(t, `{"text":"2026-07-28 tools/call"}`, w.called("far.echo", ""))
}

func TestACallByHTTPThatTakesTooLong(t *testing.T) {
	t.Parallel()
	r := &remote{}
	w := serveRemote(t, r, `, "timeout": "2s"`)
	for _, how := range []string{"hang", "silent"} {
		_, err := w.call("far.echo", how)
		require.ErrorIs(t, err, fault.ToolTimeout, how)
		require.Eventually(t, func() bool { return r.cancelled.Swap(false) }, time.Minute, 10*time.Millisecond)
	}
	require.JSONEq(t, `{"text":"2025-06-18"}`, w.called("far.echo", ""))
}

// A stream of comments is no answer: it is ended long before the call's time is over.
func TestAnAnswerByHTTPThatHasNoEvents(t *testing.T) {
	t.Parallel()
	w := serveRemote(t, &remote{}, `, "timeout": "10m"`)
	_, err := w.call("far.echo", "comments")
	require.ErrorIs(t, err, fault.EngineOffline)
	require.JSONEq(t, `{"text":"2025-06-18"}`, w.called("far.echo", ""))
}

func TestAnAnswerByHTTPThatIsTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("smaller answers take the same way, and the race detector slows this one tenfold")
	}
	w := serveRemote(t, &remote{}, "")
	_, err := w.call("far.echo", "huge")
	require.ErrorIs(t, err, fault.ToolFailed)
	require.ErrorContains(t, err, "16777216 bytes")
	require.JSONEq(t, `{"text":"2025-06-18"}`, w.called("far.echo", ""))
}

// What a server does wrong is said without its words, the address or a header.
func TestHTTPFailuresTellNoSecret(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	for named, wrong := range map[string]http.HandlerFunc{
		"HTTP 500": func(w http.ResponseWriter, asked *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = asked.Header.Write(w)
		},
		"redirects": func(w http.ResponseWriter, asked *http.Request) {
			http.Redirect(w, asked, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"Streamable HTTP": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"MCP message": func(w http.ResponseWriter, asked *http.Request) {
			_ = asked.Header.Write(w)
		},
		"authorization": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
	} {
		w := serveRemote(t, &remote{wrong: wrong}, "")
		health := w.status("far")
		require.Equal(t, engines.Offline, health.State, named)
		require.Contains(t, health.Reason, named)
		_, err := w.call("far.echo", "")
		require.ErrorIs(t, err, fault.EngineOffline)
		for _, text := range []string{health.Reason, err.Error(), w.log.String()} {
			require.NotContains(t, text, secret, named)
			require.NotContains(t, text, "queryhunter2", named)
		}
	}
}

// A server that goes away is offline, and is there again when it is back.
func TestAServerByHTTPThatGoesAway(t *testing.T) {
	r := &remote{}
	w := serveRemote(t, r, "")
	down := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	r.away.Store(&down)
	_, err := w.call("far.echo", "")
	require.ErrorIs(t, err, fault.EngineOffline)
	require.Equal(t, engines.Offline, w.status("far").State)
	r.away.Store(nil)
	require.Eventually(t, func() bool { _, err := w.call("far.echo", ""); return err == nil }, time.Minute, 10*time.Millisecond)
	require.Equal(t, engines.Ready, w.status("far").State)
}

func TestARedirectWithinTheOriginIsFollowed(t *testing.T) {
	r := &remote{}
	r.wrong = func(w http.ResponseWriter, asked *http.Request) {
		if asked.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if asked.URL.Path == "/mcp" {
			http.Redirect(w, asked, "/real", http.StatusTemporaryRedirect)
			return
		}
		body, err := io.ReadAll(asked.Body)
		require.NoError(r.t, err)
		inner := &remote{}
		var said request
		require.NoError(r.t, json.Unmarshal(body, &said))
		inner.answer(w, asked, said)
	}
	require.JSONEq(t, `{"text":"2025-06-18"}`, serveRemote(t, r, "").called("far.echo", ""))
}

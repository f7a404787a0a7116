package streamable_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/engines/mcpio/streamable"
	"savant/fault"
	"savant/internal/access"
	"savant/internal/webguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is a server with tools of the tests, at a real listener.
type served struct {
	t        *testing.T
	ctx      context.Context // of the requests; it ends when the test seems stuck
	url      string
	answers  *streamable.Server
	tokens   string // the file
	registry *engines.Registry
	logged   *lockedBuffer
	project  *streamable.Project
	notReady error
	question string        // what test.ask and test.again ask
	release  chan struct{} // lets test.wait and test.forever go on
	begun    chan struct{} // test.wait has begun
	ended    chan error    // how the context of test.wait ended
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(data)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

// hang is how long a test waits before it calls something stuck.
const hang = time.Minute

// serve starts a server that needs tokens if it is not open.
func serve(t *testing.T, open bool, change ...func(*streamable.Options)) *served {
	t.Helper()
	return serveNoting(t, open, nil, change...)
}

// serveNoting starts a server that notes where others see it what it asked.
func serveNoting(t *testing.T, open bool, questions mcpio.Questions, change ...func(*streamable.Options)) *served {
	t.Helper()
	s := &served{t: t, question: "Ship it?", logged: &lockedBuffer{}, tokens: filepath.Join(t.TempDir(), "tokens.json"), release: make(chan struct{}), begun: make(chan struct{}, 100), ended: make(chan error, 100)}
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.registry = engines.NewRegistry(engines.Options{})
	require.NoError(t, s.registry.Add(s.tools()...))
	server, err := mcpio.New(mcpio.Options{Registry: s.registry, Questions: questions})
	require.NoError(t, err)
	s.project = &streamable.Project{Server: server, Exchanges: server.Exchanges()}
	door, err := access.NewDoor(access.DoorOptions{File: s.tokens, Open: open})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	options := streamable.Options{Door: door, Logger: slog.New(slog.NewTextHandler(s.logged, nil)),
		Guard:   webguard.Guard{Addresses: true, Hosts: []string{"savant.example"}, Origins: []string{"http://" + listener.Addr().String()}},
		Project: func(context.Context, string) (*streamable.Project, error) { return s.project, nil },
		Ready:   func(context.Context) error { return s.notReady }, Resource: "https://savant.example/mcp"}
	for _, each := range change {
		each(&options)
	}
	s.answers = streamable.New(options)
	running := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.answers.Handler()}}
	running.Start()
	s.url = running.URL
	t.Cleanup(func() {
		s.project.Exchanges.Close()
		running.CloseClientConnections()
		running.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return s
}

func (s *served) tools() []engines.Tool {
	tool := func(name string, change func(*engines.Tool), call func(context.Context, engines.Call, json.RawMessage) (any, error)) engines.Tool {
		one := engines.Tool{Name: name, Title: name, Description: name + " of the tests.", Input: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`), Call: call}
		change(&one)
		return one
	}
	echo := func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) { return args, nil }
	return []engines.Tool{
		tool("test.read", func(t *engines.Tool) { t.ReadOnly = true }, echo),
		tool("test.act", func(*engines.Tool) {}, echo),
		tool("test.progress", func(t *engines.Tool) { t.ReadOnly = true }, func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
			if report := call.Progress; report != nil {
				report(1, 2, "half")
			}
			return map[string]any{"done": true}, nil
		}),
		tool("test.wait", func(t *engines.Tool) { t.ReadOnly = true }, func(ctx context.Context, _ engines.Call, _ json.RawMessage) (any, error) {
			s.begun <- struct{}{}
			select {
			case <-s.release:
				s.ended <- nil
				return map[string]any{"waited": true}, nil
			case <-ctx.Done():
				s.ended <- context.Cause(ctx)
				return nil, ctx.Err()
			}
		}),
		tool("test.ask", func(t *engines.Tool) { t.ReadOnly = true }, s.askPerson),
		tool("test.again", func(t *engines.Tool) { t.ReadOnly, t.Idempotent = true, true }, s.askPerson),
	}
}

func (s *served) askPerson(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
	elicit := call.Person
	if elicit == nil {
		return map[string]any{"asked": false}, nil
	}
	answer, err := elicit.Ask(ctx, engines.Elicitation{Message: s.question})
	if err != nil {
		return nil, err
	}
	return map[string]any{"asked": true, "action": answer.Action}, nil
}

// token makes a token with scopes.
func (s *served) token(token webguard.Token) string {
	s.t.Helper()
	secret, err := access.Add(context.Background(), s.tokens, token)
	require.NoError(s.t, err)
	return secret
}

// reply is what a test looks at in an answer.
type reply struct {
	status int
	header http.Header
	body   string
	events []string
	Result json.RawMessage
	Error  *struct {
		Code int
		Data struct{ Error, Details, Scope string }
	}
}

// ask sends a request; headers are pairs.
func (s *served) ask(method, path, body string, headers ...string) *reply {
	s.t.Helper()
	answer, err := http.DefaultClient.Do(s.request(s.ctx, method, path, strings.NewReader(body), headers...))
	require.NoError(s.t, err)
	return s.read(answer)
}

func (s *served) request(ctx context.Context, method, path string, body io.Reader, headers ...string) *http.Request {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	require.NoError(s.t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			request.Host = headers[i+1]
		case headers[i+1] == "":
			request.Header.Del(headers[i])
		default:
			request.Header.Add(headers[i], headers[i+1])
		}
	}
	return request
}

func (s *served) read(answer *http.Response) *reply {
	s.t.Helper()
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	r := &reply{status: answer.StatusCode, header: answer.Header, body: string(data)}
	last := r.body
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(r.body) {
			if event, is := strings.CutPrefix(line, "data: "); is {
				r.events = append(r.events, strings.TrimSpace(event))
				last = event
			}
		}
	}
	if strings.HasPrefix(strings.TrimSpace(last), `{"jsonrpc"`) {
		require.NoError(s.t, json.Unmarshal([]byte(last), r), last)
	}
	return r
}

func (s *served) post(body string, headers ...string) *reply {
	s.t.Helper()
	return s.ask(http.MethodPost, streamable.Path, body, headers...)
}

func call(tool string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"text":"hi"}}}`
}

// modern returns a call of revision 2026-07-28 and its headers.
func modern(tool string, members ...string) (body string, headers []string) {
	more := strings.Join(members, "")
	if !strings.Contains(more, `"arguments":`) {
		more += `"arguments":{},`
	}
	return `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"` + tool + `",` + more +
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`,
		[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`

func TestACallIsAnsweredWithJSON(t *testing.T) {
	s := serve(t, true)
	for _, revision := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25"} {
		got := s.post(call("test.read"), "Mcp-Protocol-Version", revision)
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		require.Contains(t, string(got.Result), `"structuredContent":{"text":"hi"}`)
	}
	body, headers := modern("test_read")
	got := s.post(body, headers...)
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Contains(t, string(got.Result), `"resultType":"complete"`)
	require.Equal(t, http.StatusAccepted, s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).status)
	got = s.post(`[`+call("test.read")+`,{"jsonrpc":"2.0","method":"notifications/initialized"},`+call("test.act")+`]`, "Mcp-Protocol-Version", "2025-03-26")
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, 2, strings.Count(got.body, "structuredContent"), got.body)
}

// Progress comes before the reply, as events of one stream.
func TestProgressIsStreamed(t *testing.T) {
	s := serve(t, true)
	got := s.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test.progress","_meta":{"progressToken":"p"}}}`)
	require.Equal(t, "text/event-stream", got.header.Get("Content-Type"))
	require.Equal(t, "no", got.header.Get("X-Accel-Buffering"))
	require.Len(t, got.events, 2)
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2,"message":"half"}}`, got.events[0])
	require.Contains(t, got.events[1], `"done":true`)
	got = s.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test.progress","_meta":{"progressToken":"p"}}}`, "Accept", "", "Accept", "application/json")
	require.Equal(t, "application/json", got.header.Get("Content-Type"), "a client that takes no stream gets none")
	require.Contains(t, string(got.Result), `"done":true`)
}

// The session id is all that a server needs to know of a client: another server asks
// the user of a client that initialized at the first.
func TestAnotherServerKnowsTheSession(t *testing.T) {
	first, second := serve(t, true), serve(t, true)
	id := first.post(initialize).header.Get("Mcp-Session-Id")
	require.NotEmpty(t, id)
	require.NotEqual(t, id, first.post(initialize).header.Get("Mcp-Session-Id"))

	answer, err := http.DefaultClient.Do(second.request(second.ctx, http.MethodPost, streamable.Path, strings.NewReader(call("test.ask")), "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25"))
	require.NoError(t, err)
	defer answer.Body.Close()
	events := bufio.NewScanner(answer.Body)
	question := nextEvent(t, events)
	require.Contains(t, question, `"method":"elicitation/create"`)
	require.Contains(t, question, "Ship it?")
	var asked struct{ ID json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(question), &asked))
	yes := `{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"action":"accept","content":{}}}`
	for _, other := range []string{"", first.post(initialize).header.Get("Mcp-Session-Id"), second.post(initialize).header.Get("Mcp-Session-Id")} {
		require.Equal(t, http.StatusBadRequest, second.post(yes, "Mcp-Session-Id", other).status, "who was not asked knows the id")
	}
	require.Equal(t, http.StatusAccepted, second.post(yes, "Mcp-Session-Id", id).status)
	require.Contains(t, nextEvent(t, events), `{"action":"accept","asked":true}`)

	require.Contains(t, second.post(call("test.ask")).body, `"asked":false`, "of a client without an id nothing is known")
	for _, made := range []string{"x", "AAAA", strings.Repeat("A", 10_000), "e30"} {
		got := second.post(call("test.read"), "Mcp-Session-Id", made)
		require.Equal(t, http.StatusNotFound, got.status, made)
		require.Equal(t, "INVALID_PARAMS", got.Error.Data.Error)
	}
}

func nextEvent(t *testing.T, events *bufio.Scanner) string {
	t.Helper()
	for events.Scan() {
		if data, is := strings.CutPrefix(events.Text(), "data: "); is {
			return data
		}
	}
	require.NoError(t, events.Err())
	require.Fail(t, "the stream ended")
	return ""
}

// From revision 2026-07-28 on the call is sent again with the answer.
func TestAQuestionInTheResult(t *testing.T) {
	s := serve(t, true)
	body, headers := modern("test_ask")
	var asked struct{ RequestState string }
	got := s.post(body, headers...)
	require.Contains(t, string(got.Result), `"resultType":"input_required"`, got.body)
	require.NoError(t, json.Unmarshal(got.Result, &asked))
	body, _ = modern("test_ask", `"requestState":"`+asked.RequestState+`","inputResponses":{"question":{"action":"accept","content":{}}},`)
	require.Contains(t, s.post(body, headers...).body, `{"action":"accept","asked":true}`)
}

// Another server than the one that asked takes the answer, for a tool that may be
// called again, and only for the question that was answered.
func TestAnotherServerTakesTheAnswer(t *testing.T) {
	noted := access.Questions{Folder: t.TempDir(), Project: "/shop"}
	first, second := serveNoting(t, true, noted), serveNoting(t, true, noted)
	alone := serve(t, true)
	for _, c := range []struct{ tool, question, expected string }{
		{"test_again", "Ship it?", `{"action":"accept","asked":true}`},
		{"test_again", "Ship something else?", `"resultType":"input_required"`},
		{"test_ask", "Ship it?", `"resultType":"input_required"`},
	} {
		first.question, second.question = "Ship it?", c.question
		state := first.asks(c.tool, "")
		body, headers := answered(c.tool, state, "")
		require.Contains(t, alone.post(body, headers...).body, `"resultType":"input_required"`, "a server that knows nothing of the question")
		require.Contains(t, second.post(body, headers...).body, c.expected, c)
	}
}

// asks calls a tool that asks, and returns the state under which it waits.
func (s *served) asks(tool, arguments string) (state string) {
	s.t.Helper()
	body, headers := modern(tool, arguments)
	var asked struct{ RequestState string }
	require.NoError(s.t, json.Unmarshal(s.post(body, headers...).Result, &asked))
	require.NotEmpty(s.t, asked.RequestState)
	return asked.RequestState
}

// answered is a call that is repeated with a yes.
func answered(tool, state, arguments string) (body string, headers []string) {
	return modern(tool, `"requestState":"`+state+`","inputResponses":{"question":{"action":"accept","content":{}}},`+arguments)
}

// A yes counts for the question that was asked, of the call that asked it, once: not for one
// whose state somebody made up, for that of another run, or when it is sent again.
func TestAStateOfNoQuestion(t *testing.T) {
	noted := access.Questions{Folder: t.TempDir(), Project: "/shop"}
	for name, servers := range map[string][]*served{
		"one server":  {serve(t, true)},
		"two servers": {serveNoting(t, true, noted), serveNoting(t, true, noted)},
	} {
		first, last := servers[0], servers[len(servers)-1]
		refused := func(s *served, tool, state, arguments string) {
			t.Helper()
			body, headers := answered(tool, state, arguments)
			got := s.post(body, headers...)
			require.Contains(t, string(got.Result), `"resultType":"input_required"`, "%s: %s", name, got.body)
		}
		const run, other = `"arguments":{"text":"a"},`, `"arguments":{"text":"b"},`
		for _, tool := range []string{"test_again", "test_ask"} {
			sum := sha256.New() // what identifies the question is known to who knows the workflow
			for _, part := range []string{strings.Replace(tool, "_", ".", 1), "", "Ship it?", ""} {
				fmt.Fprintf(sum, "%d %s", len(part), part)
			}
			forged := hex.EncodeToString(sum.Sum(nil))
			for _, state := range []string{"x." + forged, "." + forged, forged, "x", strings.Repeat("A", 26), strings.Repeat("A", 26) + "." + forged} {
				refused(last, tool, state, run)
			}
			state := first.asks(tool, run)
			refused(last, tool, state+"x", run)
			refused(last, tool, state, other)
			state = first.asks(tool, run)
			body, headers := answered(tool, state, run)
			require.Contains(t, first.post(body, headers...).body, `{"action":"accept","asked":true}`, name)
			refused(first, tool, state, run)
			refused(last, tool, state, run)
		}
		state := first.asks("test_again", run)
		refused(last, "test_ask", state, run)
	}
}

func TestHeadersHaveToFitTheMessage(t *testing.T) {
	s := serve(t, true)
	body, headers := modern("test_read")
	for what, change := range map[string][]string{
		"no method":        {"Mcp-Method", ""},
		"no name":          {"Mcp-Name", ""},
		"no revision":      {"Mcp-Protocol-Version", ""},
		"two names":        {"Mcp-Name", "test_act"},
		"another revision": {"Mcp-Protocol-Version", "", "Mcp-Protocol-Version", "2025-11-25"},
		"another name":     {"Mcp-Name", "", "Mcp-Name", "test_act"},
		"another method":   {"Mcp-Method", "", "Mcp-Method", "tools/list"},
		"bad base64":       {"Mcp-Name", "", "Mcp-Name", "=?base64?!!?="},
	} {
		got := s.post(body, append(append([]string{}, headers...), change...)...)
		require.Equal(t, http.StatusBadRequest, got.status, what)
		require.Equal(t, -32020, got.Error.Code, what)
	}
	got := s.post(body, append(headers, "Mcp-Name", "", "Mcp-Name", "=?base64?dGVzdF9yZWFk?=")...)
	require.Equal(t, http.StatusOK, got.status, got.body)
	got = s.post(call("test.read"), "Mcp-Protocol-Version", "1999-01-01")
	require.Equal(t, http.StatusBadRequest, got.status)
	require.Equal(t, -32022, got.Error.Code)
	got = s.post(strings.Replace(body, "tools/call", "no/such", 1), append(headers, "Mcp-Method", "", "Mcp-Method", "no/such", "Mcp-Name", "")...)
	require.Equal(t, http.StatusNotFound, got.status, got.body)
	require.Equal(t, http.StatusOK, s.post(`{"jsonrpc":"2.0","id":1,"method":"no/such"}`).status, "before that revision an error is an answer")
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	s := serve(t, true, func(o *streamable.Options) { o.MaxBody = 1000 })
	for body, status := range map[string]int{"": 400, "{": 400, "[]": 400, "[1]": 400, `{"jsonrpc":"1.0","id":1,"method":"ping"}`: 400, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`: 400,
		`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1000) + `"}`: 413} {
		got := s.post(body)
		require.Equal(t, status, got.status, body)
		require.NotNil(t, got.Error, body)
	}
	require.Equal(t, http.StatusUnsupportedMediaType, s.post(call("test.read"), "Content-Type", "").status)
	require.Equal(t, http.StatusUnsupportedMediaType, s.post(call("test.read"), "Content-Type", "", "Content-Type", "text/plain").status)
	require.Equal(t, http.StatusNotAcceptable, s.post(call("test.read"), "Accept", "", "Accept", "text/html").status)
	require.Equal(t, http.StatusMethodNotAllowed, s.ask(http.MethodDelete, streamable.Path, "").status)
	require.Equal(t, http.StatusMethodNotAllowed, s.ask(http.MethodOptions, streamable.Path, "").status)
	require.Equal(t, http.StatusMethodNotAllowed, s.ask(http.MethodGet, streamable.Path, "", "Mcp-Protocol-Version", "2026-07-28").status)
	require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/", "").status)
	require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/.well-known/oauth-protected-resource", "").status)
}

// A client that does not send what it announced is answered, whether it is let in or not,
// and its connection ends: it would hold it for ever.
func TestABodyThatDoesNotArriveIsGivenUp(t *testing.T) {
	in := serve(t, true, func(o *streamable.Options) { o.BodyTime = time.Millisecond })
	out := serve(t, false, func(o *streamable.Options) { o.BodyTime = time.Millisecond })
	for _, each := range []struct {
		s            *served
		path, method string
		headers      []string
		status       int
	}{
		{in, streamable.Path, http.MethodPost, nil, http.StatusRequestTimeout},
		{out, streamable.Path, http.MethodPost, nil, http.StatusUnauthorized},
		{out, streamable.Path, http.MethodPut, nil, http.StatusMethodNotAllowed},
		{out, streamable.Path, http.MethodPost, []string{"Origin", "http://evil.example"}, http.StatusForbidden},
		{out, "/healthz", http.MethodGet, nil, http.StatusOK},
		{out, "/nowhere", http.MethodPost, nil, http.StatusNotFound},
	} {
		for _, length := range []string{"Content-Length: 500", "Transfer-Encoding: chunked"} {
			connection, err := net.Dial("tcp", strings.TrimPrefix(each.s.url, "http://"))
			require.NoError(t, err)
			require.NoError(t, connection.SetDeadline(time.Now().Add(hang)))
			_, err = fmt.Fprintf(connection, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s\r\n", each.method, each.path, length)
			require.NoError(t, err)
			for i := 0; i < len(each.headers); i += 2 {
				_, err = fmt.Fprintf(connection, "%s: %s\r\n", each.headers[i], each.headers[i+1])
				require.NoError(t, err)
			}
			_, err = io.WriteString(connection, "\r\n")
			require.NoError(t, err)
			said, err := io.ReadAll(connection) // until the server ends the connection
			require.NoError(t, err, "%s %s, %s: %s", each.method, each.path, length, said)
			require.Contains(t, string(said), fmt.Sprintf("HTTP/1.1 %d ", each.status), "%s %s, %s", each.method, each.path, length)
			require.NoError(t, connection.Close())
		}
	}
}

func TestOtherHostsAndSitesAreRefused(t *testing.T) {
	s := serve(t, true)
	for _, headers := range [][]string{{"Host", "evil.example"}, {"Host", "127.0.0.1.evil.example"}, {"Origin", "http://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}} {
		for _, path := range []string{streamable.Path, "/healthz"} {
			got := s.ask(http.MethodPost, path, call("test.read"), headers...)
			require.Equal(t, http.StatusForbidden, got.status, headers)
			require.Equal(t, "TOOL_DENIED", got.Error.Data.Error)
		}
	}
	for _, headers := range [][]string{{"Host", "savant.example"}, {"Host", "localhost:1"}, {"Origin", s.url}} {
		require.Equal(t, http.StatusOK, s.post(call("test.read"), headers...).status, headers)
	}
}

// A client that leaves cancels its call from revision 2026-07-28 on; before, the call
// goes on until the client says that it does not want the answer.
func TestClientsThatLeave(t *testing.T) {
	s := serve(t, true)
	leave := func(body string, headers ...string) {
		ctx, cancel := context.WithCancel(s.ctx)
		go func() {
			<-s.begun
			cancel()
		}()
		_, err := http.DefaultClient.Do(s.request(ctx, http.MethodPost, streamable.Path, strings.NewReader(body), headers...)) //nolint:bodyclose // there is none
		require.ErrorIs(t, err, context.Canceled)
	}
	body, headers := modern("test_wait")
	leave(body, headers...)
	require.Error(t, <-s.ended)

	leave(call("test.wait"))
	close(s.release)
	require.NoError(t, <-s.ended)

	s.release = make(chan struct{})
	one, other := s.post(initialize).header.Get("Mcp-Session-Id"), s.post(initialize).header.Get("Mcp-Session-Id")
	cancelled := make(chan *reply)
	go func() { cancelled <- s.post(call("test.wait"), "Mcp-Session-Id", one) }()
	<-s.begun
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	require.Equal(t, http.StatusAccepted, s.post(cancel, "Mcp-Session-Id", other).status, "the same id of another client")
	require.Equal(t, http.StatusAccepted, s.post(cancel).status)
	select {
	case err := <-s.ended:
		require.Fail(t, "a client cancelled the call of another", "%v", err)
	default:
	}
	require.Equal(t, http.StatusAccepted, s.post(cancel, "Mcp-Session-Id", one).status)
	require.Error(t, <-s.ended)
	require.Empty(t, (<-cancelled).body, "no reply to a cancelled call")
}

// The server tells of changes on a stream of its own, or of subscriptions/listen.
func TestStreams(t *testing.T) {
	s := serve(t, true)
	open := func(method, body string, headers ...string) *bufio.Scanner {
		answer, err := http.DefaultClient.Do(s.request(s.ctx, method, streamable.Path, strings.NewReader(body), headers...))
		require.NoError(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
		return bufio.NewScanner(answer.Body)
	}
	old := open(http.MethodGet, "")
	require.True(t, old.Scan(), "it begins at once")
	latest := open(http.MethodPost, `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},
		"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	require.Contains(t, nextEvent(t, latest), "notifications/subscriptions/acknowledged")
	require.NoError(t, s.registry.ReplaceTools("test", s.tools()[:1]...))
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, nextEvent(t, old))
	require.Contains(t, nextEvent(t, latest), `"method":"notifications/tools/list_changed"`)
	ended := make(chan error)
	go func() { ended <- s.answers.End(context.Background()) }()
	require.NoError(t, <-ended, "streams do not hold up the end")
	for old.Scan() {
	}
	require.Contains(t, nextEvent(t, latest), `"id":9`)
}

// What was begun is answered, what comes later is not begun.
func TestTheEnd(t *testing.T) {
	s := serve(t, true)
	require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/readyz", "").status)
	s.notReady = fault.New(fault.StateNotSaved, "the disk is gone")
	require.JSONEq(t, `{"status":"failed","error":"STATE_NOT_SAVED"}`, s.ask(http.MethodGet, "/readyz", "").body)
	require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/healthz", "").status)
	s.notReady = nil

	begun := make(chan *reply)
	go func() { begun <- s.post(call("test.wait")) }()
	<-s.begun
	late, stop := context.WithCancelCause(context.Background())
	ended := make(chan error)
	go func() { ended <- s.answers.End(late) }()
	for s.ask(http.MethodGet, "/readyz", "").status == http.StatusOK {
	}
	got := s.post(call("test.read"))
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.Equal(t, "ENGINE_OFFLINE", got.Error.Data.Error)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, s.ask(http.MethodGet, "/healthz", "").status)
	close(s.release)
	require.Contains(t, (<-begun).body, `"waited":true`)
	require.NoError(t, <-ended)
	stop(errors.New("unused"))
}

func TestAnEndThatTakesTooLong(t *testing.T) {
	s := serve(t, true)
	begun := make(chan *reply)
	go func() { begun <- s.post(call("test.wait")) }()
	<-s.begun
	over := errors.New("over")
	late, stop := context.WithCancelCause(context.Background())
	stop(over)
	require.ErrorIs(t, s.answers.End(late), over)
	s.project.Exchanges.Close()
	require.Error(t, <-s.ended)
	require.NotEmpty(t, (<-begun).body, "the client is told")
}

package reasoning_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"savant/fault"
	"savant/reasoning"
	"savant/telemetry"
	"savant/test/golden"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "sekrit-0123456789abcdef"

// overHTTP returns a client of a handler.
func overHTTP(t testing.TB, handler http.HandlerFunc, retries int) *reasoning.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL, Token: token, UserAgent: "savant/test"})
	require.NoError(t, err)
	t.Cleanup(func() {
		transport.Close()
		server.Close()
	})
	return reasoning.New(reasoning.Options{Transport: transport, Name: transport.Name(), Timeout: 2 * time.Minute, Retries: retries})
}

func TestARequestTravelsWhole(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	client := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, "POST /agent_intent", r.Method+" "+r.URL.Path)
		require.Equal(t, "Bearer "+token, r.Header.Get("Authorization"))
		require.Equal(t, "application/json", r.Header.Get("Content-Type"))
		require.Equal(t, "savant/test", r.Header.Get("User-Agent"))
		require.Equal(t, parent, r.Header.Get("Traceparent"))
		require.Equal(t, "vendor=1", r.Header.Get("Tracestate"))
		var got map[string]any
		require.NoError(t, json.NewDecoder(r.Body).Decode(&got))
		require.Equal(t, "r1", got["run_id"])
		require.Equal(t, fmt.Sprintf("r1/%v", got["step"]), r.Header.Get("Idempotency-Key"))
		require.Equal(t, []any{}, got["tools"])
		fmt.Fprint(w, finish)
	}, 0)
	_, err := client.Decide(telemetry.WithTrace(t.Context(), telemetry.Trace{Parent: parent, State: "vendor=1"}), question, reasoning.Unobserved{})
	require.NoError(t, err)
}

// TestTheBodyIsTheRequest: tools are encoded once while they stay the same,
// which must not show.
func TestTheBodyIsTheRequest(t *testing.T) {
	var bodies []string
	client := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		bodies = append(bodies, string(body))
		fmt.Fprint(w, finish)
	}, 0)
	one := reasoning.Tool{Name: "a.b", Description: "<x> & y", InputSchema: json.RawMessage(`{"type": "object"}`)}
	other := one
	other.InputSchema = json.RawMessage(`{"type": "object", "properties": {"tools": {"type": "array", "default": []}}}`)
	for i, tools := range [][]reasoning.Tool{nil, {one}, {one}, {one, other}, {other}, {}, {one}} {
		asked := question
		asked.Step, asked.Tools = i+1, tools
		asked.Goal, asked.Repo = `"tools":[] and ,"tools":[]`, &reasoning.Repo{Name: `"tools":[]`, Languages: map[string]int{"tools": 1}}
		asked.LastOutput = []reasoning.Outcome{{ToolName: "a.b", Result: json.RawMessage(`{"tools":[]}`)}}
		_, err := client.Decide(t.Context(), asked, reasoning.Unobserved{})
		require.NoError(t, err)
		want, err := asked.Encode()
		require.NoError(t, err)
		require.Equal(t, string(want), bodies[i])
	}
}

func TestAPathIsUsedAsItIs(t *testing.T) {
	for given, want := range map[string]string{"": "/agent_intent", "/": "/agent_intent", "/v1/decide?tenant=a": "/v1/decide?tenant=a"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"action":"finish","final":%q}`, r.URL.RequestURI())
		}))
		transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL + given})
		require.NoError(t, err)
		intent, err := reasoning.New(reasoning.Options{Transport: transport}).Decide(t.Context(), question, reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, want, intent.Final)
		transport.Close()
		server.Close()
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, given := range []string{"api.example", "ftp://api.example", "http://", "http://ada:hunter2@api.example", "http://a b"} {
		_, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: given})
		require.ErrorIs(t, err, fault.InvalidParams, given)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// respond is a handler with one answer.
func respond(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// TestAnswersThatCannotBeUsed checks codes and attempts. The wording is in
// testdata/unusable_answers.golden.
func TestAnswersThatCannotBeUsed(t *testing.T) {
	elsewhere := httptest.NewServer(respond(200, finish))
	t.Cleanup(elsewhere.Close)
	messages := map[string]string{}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		code    fault.Code
		tries   int32 // with two retries
	}{
		"html":          {respond(200, "<!DOCTYPE html><p>Log in", "Content-Type", "text/html"), fault.InvalidIntent, 1},
		"bad json":      {respond(200, `{"action":`), fault.InvalidIntent, 1},
		"two values":    {respond(200, finish+finish), fault.InvalidIntent, 1},
		"empty":         {respond(200, ""), fault.InvalidIntent, 1},
		"no content":    {respond(204, ""), fault.InvalidIntent, 1},
		"a list":        {respond(200, "["+finish+"]"), fault.InvalidIntent, 1},
		"action":        {respond(200, `{"action":"dance"}`), fault.InvalidIntent, 1},
		"declared size": {respond(200, "", "Content-Length", "4194305"), fault.InvalidIntent, 1},
		"size":          {large, fault.InvalidIntent, 1},
		"400":           {respond(400, `{"error":"INVALID_PARAMS"}`), fault.ReasoningUnavailable, 1},
		"401":           {respond(401, "your token "+token+" is wrong"), fault.ReasoningUnavailable, 1},
		"401, encoded":  {respond(401, "you sent "+base64.StdEncoding.EncodeToString([]byte(token))), fault.ReasoningUnavailable, 1},
		"403":           {respond(403, "not for sk-proj-"+"abcdefghijklmnop1234"), fault.ReasoningUnavailable, 1},
		"404":           {respond(404, "<html>nothing"), fault.ReasoningUnavailable, 1},
		"500":           {respond(500, ""), fault.ReasoningUnavailable, 3},
		"501":           {respond(501, ""), fault.ReasoningUnavailable, 1},
		"no intent":     {respond(422, `{"error":"INVALID_INTENT","details":"no answer fits"}`), fault.InvalidIntent, 1},
		"too large":     {respond(413, `{"error":"LIMIT_EXCEEDED","details":"9000 tokens; the budget is 8000"}`), fault.LimitExceeded, 1},
		"another 413":   {respond(413, `{"error":"TOO_MUCH"}`), fault.ReasoningUnavailable, 1},
		"429":           {respond(429, "slow down"), fault.ReasoningUnavailable, 3},
		"502":           {respond(502, ""), fault.ReasoningUnavailable, 3},
		"503":           {respond(503, "", "Retry-After", "0"), fault.ReasoningUnavailable, 3},
		"504":           {respond(504, ""), fault.ReasoningUnavailable, 3},
		"503, tomorrow": {respond(503, "", "Retry-After", "86400"), fault.ReasoningUnavailable, 1},
		"another host":  {respond(307, "", "Location", elsewhere.URL), fault.ReasoningUnavailable, 1},
		"a GET":         {respond(302, "", "Location", "/elsewhere"), fault.ReasoningUnavailable, 1},
		"a circle":      {respond(307, "", "Location", "/agent_intent"), fault.ReasoningUnavailable, 4},
		"reset":         {reset, fault.ReasoningUnavailable, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			_, err := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				tries.Add(1)
				c.handler(w, r)
			}, 2).Decide(t.Context(), question, reasoning.Unobserved{})
			require.ErrorIs(t, err, c.code)
			require.Equal(t, c.tries, tries.Load())
			require.NotContains(t, err.Error(), token)
			if name != "reset" { // whose cause the system words
				messages[name] = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(fault.From(err).Details, "HOST")
			}
		})
	}
	golden.Messages(t, *update, "testdata/unusable_answers.golden", messages)
}

// large answers more than is taken, without saying how much it will be.
func large(w http.ResponseWriter, _ *http.Request) {
	block := bytes.Repeat([]byte(" "), 1<<20)
	for range 5 {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// reset breaks the connection in the middle of the body.
func reset(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, `{"action"`)
	w.(http.Flusher).Flush()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		connection.(*net.TCPConn).SetLinger(0)
		connection.Close()
	}
}

func TestContentTypeAndCompressionDoNotMatter(t *testing.T) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	fmt.Fprint(zip, finish)
	require.NoError(t, zip.Close())
	for name, handler := range map[string]http.HandlerFunc{
		"text":    respond(200, finish, "Content-Type", "text/plain"),
		"none":    respond(200, finish, "Content-Type", ""),
		"charset": respond(200, "\xEF\xBB\xBF"+finish, "Content-Type", "application/json; charset=utf-8"),
		"gzip":    respond(200, packed.String(), "Content-Type", "application/json", "Content-Encoding", "gzip"),
	} {
		t.Run(name, func(t *testing.T) {
			intent, err := overHTTP(t, handler, 0).Decide(t.Context(), question, reasoning.Unobserved{})
			require.NoError(t, err)
			require.Equal(t, "done", intent.Final)
		})
	}
}

// A small body that unpacks to a large one is cut off at the same bound.
func TestAPackedFloodIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one call after the other: the race detector finds nothing in it, and slows it tenfold")
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	for range 64 {
		_, err := zip.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, zip.Close())
	_, err := overHTTP(t, respond(200, packed.String(), "Content-Encoding", "gzip"), 0).Decide(t.Context(), question, reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.InvalidIntent)
	require.Contains(t, err.Error(), strconv.Itoa(reasoning.MaxAnswer), "the limit")
}

func TestARedirectOnTheSameHostKeepsTheRequest(t *testing.T) {
	client := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == reasoning.Endpoint {
			http.Redirect(w, r, "/v2", http.StatusPermanentRedirect)
			return
		}
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), `"run_id":"r1"`)
		require.Equal(t, "Bearer "+token, r.Header.Get("Authorization"))
		fmt.Fprint(w, finish)
	}, 0)
	_, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
	require.NoError(t, err)
}

// Connections are used again. net/http gives one up whose request was not known
// to be written 50 ms after its answer, which takes a pause of the machine; one
// whose answer was not read to its end would be given up every time.
func TestConnectionsAreUsedAgain(t *testing.T) {
	const questions = 20
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, finish)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL})
	require.NoError(t, err)
	t.Cleanup(transport.Close)
	client := reasoning.New(reasoning.Options{Transport: transport})
	for range questions {
		_, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
		require.NoError(t, err)
	}
	require.Less(t, opened.Load(), int32(questions/2))
}

func TestAPendingAnswerIsInterrupted(t *testing.T) {
	asked := make(chan struct{})
	client := overHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
	}, 2)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := client.Decide(ctx, question, reasoning.Unobserved{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestASlowServiceIsNotWaitedFor(t *testing.T) {
	for name, begin := range map[string]string{"before the header": "", "in the middle of the body": `{"action":`} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if begin != "" {
					io.WriteString(w, begin)
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL})
			require.NoError(t, err)
			t.Cleanup(transport.Close)
			_, err = reasoning.New(reasoning.Options{Transport: transport, Timeout: 20 * time.Millisecond, Retries: 1}).Decide(t.Context(), question, reasoning.Unobserved{})
			require.ErrorIs(t, err, fault.ReasoningUnavailable)
			require.Equal(t, 2, fault.From(err).Extra["attempts"])
			require.Contains(t, err.Error(), "20ms", "the timeout")
		})
	}
}

func TestACertificateThatIsNotTrustedIsFinal(t *testing.T) {
	server := httptest.NewUnstartedServer(respond(200, finish))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL})
	require.NoError(t, err)
	_, err = transport.RoundTrip(t.Context(), question, reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.ReasoningUnavailable)
	require.NotErrorAs(t, err, new(*reasoning.Temporary))
}

func TestNobodyThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: "http://" + address + "/x?key=hunter2hunter2", Token: token})
	require.NoError(t, err)
	_, err = reasoning.New(reasoning.Options{Transport: transport, Name: transport.Name(), Retries: 1}).Decide(t.Context(), question, reasoning.Unobserved{})
	require.ErrorIs(t, err, fault.ReasoningUnavailable)
	require.Contains(t, err.Error(), address)
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), token)
	require.Equal(t, 2, fault.From(err).Extra["attempts"])
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "-1": 0, "soon": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0} {
		require.Equal(t, want, reasoning.RetryAfter(value, now), value)
	}
	require.Positive(t, reasoning.RetryAfter(strings.Repeat("9", 15), now))
	require.Greater(t, reasoning.RetryAfter(strings.Repeat("9", 30), now), time.Hour)
	require.Zero(t, reasoning.RetryAfter("-"+strings.Repeat("9", 30), now))
}

func BenchmarkDecideOverLoopback(b *testing.B) {
	client := overHTTP(b, respond(200, finish), 0)
	request := question
	for i := range 60 {
		request.Tools = append(request.Tools, reasoning.Tool{Name: fmt.Sprintf("engine.tool%d", i), Description: strings.Repeat("what it does ", 20),
			InputSchema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}`)})
	}
	request.Memory.Summary = strings.Repeat("x", 16_000)
	for b.Loop() {
		if _, err := client.Decide(b.Context(), request, reasoning.Unobserved{}); err != nil {
			b.Fatal(err)
		}
	}
}

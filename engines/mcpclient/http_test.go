package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/redact"
	"savant/test/golden"
)

// overHTTP is a server by HTTP whose answers to tools/call a test writes; id
// is that of the call, as JSON.
func overHTTP(t *testing.T, call func(w http.ResponseWriter, id string)) *mcpclient.Client {
	t.Helper()
	return overHTTPWith(t, mcpclient.Options{}, call)
}

func overHTTPWith(t *testing.T, options mcpclient.Options, call func(w http.ResponseWriter, id string)) *mcpclient.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(body, &asked)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case asked.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18"}}`, asked.ID)
		case asked.Method == "tools/call":
			call(w, string(asked.ID))
		default: // some answer notifications as if they were requests
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "ok")
		}
	}))
	t.Cleanup(server.Close)
	c, err := mcpclient.ConnectHTTP(t.Context(), server.URL, nil, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// What is no answer to the call is never taken for one.
func TestClientOverHTTPOddAnswers(t *testing.T) {
	const empty = `"result":{"content":[]}}`
	status := func(code int, body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, _ string) {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
		}
	}
	messages := map[string]string{}
	for name, each := range map[string]struct {
		answer func(http.ResponseWriter, string)
		code   fault.Code
		says   string // a part: its status or the code of the protocol
	}{
		"a gateway's 500":       {status(500, `{"message":"hunter2"}`), fault.EngineOffline, "HTTP 500"},
		"a limit with an error": {status(429, `{"error":"hunter2"}`), fault.ToolFailed, "HTTP 429"},
		"a failure as a result": {status(500, `{"jsonrpc":"2.0","id":2,`+empty), fault.EngineOffline, "HTTP 500"},
		"a protocol error":      {status(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`), fault.ToolFailed, "-32600"},
		"the id of another": {func(w http.ResponseWriter, _ string) { fmt.Fprint(w, `{"jsonrpc":"2.0","id":"other",`+empty) },
			fault.ToolFailed, ""},
		"the id of another, in a stream": {func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"other\",%s\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,%s\n\n", empty, id, empty)
		}, fault.ToolFailed, ""},
		"an error with an id of its own": {status(406, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Not Acceptable"}}`), fault.ToolFailed, "Not Acceptable"},
		"a stream without the answer": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		}, fault.EngineOffline, "ended before the answer"},
		"neither a result nor an error": {func(w http.ResponseWriter, id string) { fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s}`, id) },
			fault.ToolFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := overHTTP(t, each.answer).Invoke(t.Context(), "x", map[string]any{}, nil)
			require.ErrorIs(t, err, each.code)
			require.ErrorContains(t, err, each.says)
			require.NotContains(t, err.Error(), "hunter2")
			messages[name] = fault.From(err).Details
		})
	}
	golden.Messages(t, *update, "testdata/odd_answers.golden", messages)
}

// Answers over HTTP are read whatever the server calls them, and what is none is named.
func TestClientOverHTTPAnswersInOtherForms(t *testing.T) {
	for name, c := range map[string]struct{ kind, body string }{
		"text/plain":           {"text/plain; charset=utf-8", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}`},
		"no type":              {"", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}`},
		"a byte order mark":    {"application/json", "\ufeff" + `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}`},
		"several lines":        {"application/json", "{\n\"jsonrpc\":\"2.0\",\n\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"so\"}]}}\n"},
		"a batch of one":       {"application/json", `[{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}]`},
		"text before it":       {"application/json", `ok {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}`},
		"NaN":                  {"application/json", `{"jsonrpc":"2.0","id":%s,"result":{"x":NaN,"content":[{"type":"text","text":"so"}]}}`},
		"a batch in a stream":  {"text/event-stream", `data: [{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}]` + "\n\n"},
		"NaN in a stream":      {"text/event-stream", `data: {"jsonrpc":"2.0","id":%s,"result":{"x":NaN,"content":[{"type":"text","text":"so"}]}}` + "\r\n\r\n"},
		"a request before it":  {"application/json", `{"jsonrpc":"2.0","method":"notifications/message"}` + "\n" + `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}`},
		"text in a stream":     {"text/event-stream", "data: ready\n\ndata: ok " + `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}` + "\n\n"},
		"lines in a stream":    {"text/event-stream", "event: message\ndata: {\n \"jsonrpc\":\"2.0\",\n \"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"so\"}]}}\n\n"},
		"data lines":           {"text/event-stream", "data: {\ndata: \"jsonrpc\":\"2.0\",\ndata: \"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"so\"}]}}\n\n"},
		"no data:":             {"text/event-stream", `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}` + "\n\n"},
		"no blank line":        {"text/event-stream", `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}`},
		"a mark in a stream":   {"text/event-stream", "\ufeffdata: \ufeff" + `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}` + "\n\n"},
		"a stream called text": {"text/plain", `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"so"}]}}` + "\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := overHTTP(t, func(w http.ResponseWriter, id string) {
				w.Header()["Content-Type"] = []string{c.kind}
				fmt.Fprintf(w, c.body, id)
			}).Invoke(t.Context(), "x", map[string]any{}, nil)
			require.NoError(t, err)
			require.Equal(t, "so", result.Text())
		})
	}
	_, err := overHTTP(t, func(w http.ResponseWriter, _ string) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>hunter2</p>")
	}).Invoke(t.Context(), "x", map[string]any{}, nil)
	require.ErrorIs(t, err, fault.EngineOffline)
	require.ErrorContains(t, err, "tools/call with a body that is not valid MCP: text/html")
	require.NotContains(t, err.Error(), "hunter2")
}

// What cannot be read ends the call at once, with its beginning in the error and in the log, and
// without secrets. A stream that stays open and says something else is logged at once.
func TestClientOverHTTPNamesWhatIsNoMessage(t *testing.T) {
	for name, c := range map[string]struct {
		kind, body, says string
		open             bool
	}{
		"text":                   {"application/json", "hello, hunter2-hunter2", `no MCP message: "hello, `, false},
		"plain text":             {"text/plain", "hello, hunter2-hunter2", `no MCP message: "hello, `, false},
		"broken":                 {"application/json", `{"jsonrpc":"2.0","id":%s,"result":{},}`, `no MCP message: "{\"jsonrpc`, false},
		"without an id":          {"application/json", `{"jsonrpc":"2.0","result":{"x":1}}`, `no MCP message: "{\"jsonrpc`, false},
		"single quotes":          {"application/json", `{'jsonrpc':'2.0','id':%s,'result':{}}`, `no MCP message: "{'jsonrpc`, false},
		"a text of JSON":         {"application/json", `"{}"`, `no MCP message: "\"{}\""`, false},
		"nothing":                {"application/json", "", "HTTP 200 and no message", false},
		"text in a stream":       {"text/event-stream", "data: hello\n\n", `no MCP message: "hello"`, false},
		"broken in an open one":  {"text/event-stream", `data: {"jsonrpc":"2.0","id":%s,"result":{},}` + "\n\n", `no MCP message: "{\"jsonrpc`, true},
		"text in an open stream": {"text/event-stream", "data: Traceback\n\n", `tools/call was not answered: context canceled; the server printed a line that is no message: "Traceback"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var log bytes.Buffer
			write := io.MultiWriter(&log, cancelOn(func() {
				if strings.Contains(c.says, "canceled") {
					cancel()
				}
			}))
			options := mcpclient.Options{Logger: slog.New(slog.NewTextHandler(write, nil)), Hidden: redact.New("hunter2-hunter2")}
			_, err := overHTTPWith(t, options, func(w http.ResponseWriter, id string) {
				w.Header().Set("Content-Type", c.kind)
				fmt.Fprint(w, strings.ReplaceAll(c.body, "%s", id))
				if c.open {
					w.(http.Flusher).Flush()
					<-ctx.Done()
				}
			}).Invoke(ctx, "x", map[string]any{}, nil) // which has no timeout
			cancel()
			require.ErrorIs(t, err, fault.EngineOffline)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error()+log.String(), "hunter2")
			if c.body != "" {
				require.Contains(t, log.String(), "a server sent what is no message")
			}
		})
	}
}

// A server that was begun anew may say so in the wrong way. One that forbids a call has not
// forgotten the session, whatever it says of it.
func TestClientOverHTTPForgottenSession(t *testing.T) {
	for message, forgotten := range map[string]bool{"Bad Request: No valid session ID provided": true, "no such page": false} {
		for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusForbidden} {
			_, err := overHTTP(t, func(w http.ResponseWriter, _ string) {
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":%q}}`, message)
			}).Invoke(t.Context(), "x", map[string]any{}, nil)
			require.Equal(t, forgotten && status != http.StatusForbidden, errors.Is(err, mcpclient.ErrSessionOver), "%d: %s", status, message)
			require.Error(t, err)
		}
	}
}

package streamable_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/engines/mcpio/streamable"
	"savant/internal/access"
	"savant/internal/webguard"
)

// FuzzRequest sends anything as a request of a caller who may only read: there is
// always an answer, it is JSON or a stream, and no tool acts.
func FuzzRequest(f *testing.F) {
	body, _ := modern("test_act")
	for _, seed := range []string{call("test.read"), call("test.act"), body, initialize, `[` + call("test.act") + `]`, "\ufeff" + call("test.act"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test.act","name":"test.read"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"test.act"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools\u002fcall","params":{"n\u0061me":"test\u002eact"}}`} {
		f.Add([]byte(seed), "", "2025-11-25", "tools/call", "test.read")
		f.Add([]byte(seed), "eyJpIjoiYSIsInAiOiIyMDI1LTAzLTI2IiwiZiI6dHJ1ZX0", "2025-03-26", "", "")
		f.Add([]byte(seed), "", "2026-07-28", "tools/call", "test_act")
	}
	registry := engines.NewRegistry(engines.Options{})
	var acted atomic.Bool
	require.NoError(f, registry.Add(
		engines.Tool{Name: "test.act", Title: "act", Description: "acts", Input: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, engines.Call, json.RawMessage) (any, error) {
			acted.Store(true)
			return map[string]any{}, nil
		}},
		engines.Tool{Name: "test.read", Title: "read", Description: "reads", ReadOnly: true, Input: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, engines.Call, json.RawMessage) (any, error) {
			return map[string]any{}, nil
		}}))
	server, err := mcpio.New(mcpio.Options{Registry: registry})
	require.NoError(f, err)
	project := &streamable.Project{Server: server, Exchanges: server.Exchanges()}
	f.Cleanup(project.Exchanges.Close)
	path := f.TempDir() + "/tokens.json"
	token, err := access.Add(f.Context(), path, webguard.Token{Name: "reader", Scopes: []string{"read"}})
	require.NoError(f, err)
	door, err := access.NewDoor(access.DoorOptions{File: path})
	require.NoError(f, err)
	handler := streamable.New(streamable.Options{Door: door, Guard: webguard.Guard{Addresses: true}, MaxBody: 1 << 16,
		Project: func(context.Context, string) (*streamable.Project, error) { return project, nil }, Ready: func(context.Context) error { return nil }}).Handler()
	f.Fuzz(func(t *testing.T, body []byte, session, revision, method, name string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // a stream that would stay open ends at once
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1"+streamable.Path, strings.NewReader(string(body)))
		for header, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + token, "Mcp-Session-Id": session, "Mcp-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": name} {
			request.Header.Set(header, value)
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		require.False(t, acted.Load(), "a tool acted for who may only read")
		answer := recorder.Body.String()
		switch kind := recorder.Header().Get("Content-Type"); kind {
		case "application/json":
			require.True(t, json.Valid([]byte(answer)), answer)
		case "text/event-stream":
			for line := range strings.Lines(answer) {
				if data, is := strings.CutPrefix(line, "data: "); is {
					require.True(t, json.Valid([]byte(data)), line)
				}
			}
		default:
			require.Empty(t, answer)
			require.Equal(t, http.StatusAccepted, recorder.Code)
		}
	})
}

package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/service"
	"savant/schemas"
)

// decider answers with one error, or as the offline planner.
type decider struct{ err error }

func (d decider) Decide(ctx context.Context, request reasoning.Request, observer reasoning.Observer) (reasoning.Intent, error) {
	if d.err != nil {
		return reasoning.Intent{}, d.err
	}
	return service.New(service.Options{}).Decide(ctx, request, observer)
}

const token = "sekrit-0123456789"

// requestSchema is the published schema of a request.
func requestSchema(t *testing.T) *schemas.Schema {
	t.Helper()
	set, err := schemas.Load(os.DirFS("../../schemas"))
	require.NoError(t, err)
	schema, err := set.Lookup("reasoning_request")
	require.NoError(t, err)
	return schema
}

func serve(t *testing.T, d decider) *httptest.Server {
	t.Helper()
	schema := requestSchema(t)
	server := httptest.NewServer(service.NewHandler(service.HandlerOptions{Decider: d, Schema: schema, Token: token}))
	t.Cleanup(server.Close)
	return server
}

// The client and the service agree over HTTP as they do inside the program.
func TestTheServiceOverHTTP(t *testing.T) {
	t.Parallel()
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: serve(t, decider{}).URL, Token: token})
	require.NoError(t, err)
	t.Cleanup(transport.Close)
	over, err := reasoning.New(reasoning.Options{Transport: transport}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	inside, err := reasoning.New(reasoning.Options{Transport: service.New(service.Options{})}).Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, inside, over)
	require.Empty(t, over.Repairs)
}

// A page that somebody looks at does not spend what their models cost.
func TestAPageInABrowserIsRefused(t *testing.T) {
	t.Parallel()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, serve(t, decider{}).URL+"/agent_intent", strings.NewReader("{}"))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Origin", "https://example.org")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusForbidden, response.StatusCode)
}

// A model that asks to wait makes the service ask to wait.
func TestRetryAfterIsPassedOn(t *testing.T) {
	t.Parallel()
	busy := &reasoning.Temporary{Err: fault.New(fault.ReasoningUnavailable, "it answered HTTP 429"), After: 1500 * time.Millisecond}
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: serve(t, decider{busy}).URL, Token: token})
	require.NoError(t, err)
	t.Cleanup(transport.Close)
	_, err = transport.RoundTrip(t.Context(), whole(), reasoning.Unobserved{})
	var temporary *reasoning.Temporary
	require.ErrorAs(t, err, &temporary)
	require.Equal(t, 2*time.Second, temporary.After)
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := `{"session_id":"s","run_id":"r","step":1,"goal":"g","persona":{},"driver":{},"rules":[],"tools":[],"policy":{},"memory":{"steps":[]},"last_output":[],"limits":{}}`
	for name, c := range map[string]struct {
		method, path, auth, body string
		err                      error
		status                   int
		code                     fault.Code
	}{
		"good":          {"POST", "/agent_intent", "Bearer " + token, good, nil, 200, ""},
		"lower case":    {"POST", "/agent_intent", "bearer " + token, good, nil, 200, ""},
		"a GET":         {"GET", "/agent_intent", "Bearer " + token, "", nil, 405, ""},
		"another path":  {"POST", "/", "Bearer " + token, good, nil, 404, ""},
		"no token":      {"POST", "/agent_intent", "", good, nil, 401, fault.ToolDenied},
		"a wrong token": {"POST", "/agent_intent", "Bearer " + token + "x", good, nil, 401, fault.ToolDenied},
		"no bearer":     {"POST", "/agent_intent", "Basic " + token, good, nil, 401, fault.ToolDenied},
		"no JSON":       {"POST", "/agent_intent", "Bearer " + token, "{", nil, 400, fault.InvalidParams},
		"a bad step":    {"POST", "/agent_intent", "Bearer " + token, strings.Replace(good, `"step":1`, `"step":"1"`, 1), nil, 400, fault.InvalidParams},
		"step 1.0":      {"POST", "/agent_intent", "Bearer " + token, strings.Replace(good, `"step":1`, `"step":1.0`, 1), nil, 200, ""},
		"a long step":   {"POST", "/agent_intent", "Bearer " + token, strings.Replace(good, `"step":1`, `"step":99999999999999999999`, 1), nil, 400, fault.InvalidParams},
		"no goal":       {"POST", "/agent_intent", "Bearer " + token, strings.Replace(good, `"goal":"g",`, "", 1), nil, 400, fault.InvalidParams},
		"too large":     {"POST", "/agent_intent", "Bearer " + token, strings.Repeat(" ", service.MaxRequest+1), nil, 413, fault.LimitExceeded},
		"no model":      {"POST", "/agent_intent", "Bearer " + token, good, fault.New(fault.ReasoningUnavailable, "down"), 503, fault.ReasoningUnavailable},
		"no intent":     {"POST", "/agent_intent", "Bearer " + token, good, fault.New(fault.InvalidIntent, "no"), 422, fault.InvalidIntent},
		"inside":        {"POST", "/agent_intent", "Bearer " + token, good, errors.New("open /home/ada/secret"), 500, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), c.method, serve(t, decider{c.err}).URL+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			request.Header.Set("Authorization", c.auth)
			request.Close = true
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, c.status, response.StatusCode, string(body))
			require.NotContains(t, string(body), "secret")
			require.NotContains(t, string(body), token)
			require.NotContains(t, string(body), "Go ", "a name of a Go type helps nobody")
			if c.code != "" {
				var got fault.Error
				require.NoError(t, json.Unmarshal(body, &got))
				require.Equal(t, c.code, got.Code)
			}
		})
	}
}

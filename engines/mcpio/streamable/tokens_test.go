package streamable_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/mcpio/streamable"
	"savant/internal/access"
	"savant/internal/webguard"
)

func TestTokensAndScopes(t *testing.T) {
	s := serve(t, false, func(o *streamable.Options) { o.Issuer = "https://login.example" })
	got := s.post(call("test.read"))
	require.Equal(t, http.StatusUnauthorized, got.status, "nobody is let in before there is a token")
	require.Equal(t, `Bearer scope="read", resource_metadata="https://savant.example/.well-known/oauth-protected-resource/mcp"`, got.header.Get("WWW-Authenticate"))

	read := s.token(webguard.Token{Name: "reader", Scopes: []string{"read"}})
	all := s.token(webguard.Token{Name: "all", Scopes: []string{"run", "approve"}})
	got = s.post(call("test.read"), "Authorization", "Bearer "+read+"x")
	require.Equal(t, http.StatusUnauthorized, got.status)
	require.Contains(t, got.header.Get("WWW-Authenticate"), `error="invalid_token"`)
	require.Equal(t, http.StatusOK, s.post(call("test.read"), "Authorization", "Bearer "+read).status)
	for _, tool := range []string{"test.act", "test_act", "test.none"} {
		got = s.post(call(tool), "Authorization", "Bearer "+read)
		require.Equal(t, http.StatusForbidden, got.status, tool)
		require.Equal(t, `Bearer error="insufficient_scope", scope="run", resource_metadata="https://savant.example/.well-known/oauth-protected-resource/mcp"`, got.header.Get("WWW-Authenticate"))
		require.Equal(t, "TOOL_DENIED", got.Error.Data.Error)
		require.Equal(t, "run", got.Error.Data.Scope)
	}
	require.Equal(t, http.StatusForbidden, s.post(`[`+call("test.read")+`,`+call("test.act")+`]`, "Authorization", "Bearer "+read).status, "one of a batch")
	require.Equal(t, http.StatusOK, s.post(call("test.act"), "Authorization", "Bearer "+all).status)

	body, headers := modern("test_ask")
	require.Contains(t, s.post(body, append(headers, "Authorization", "Bearer "+read)...).body, `"asked":false`, "without the scope the user is not asked")
	require.Contains(t, s.post(body, append(headers, "Authorization", "Bearer "+all)...).body, `input_required`)
	body, _ = modern("test_ask", `"requestState":"x","inputResponses":{"question":{"action":"accept"}},`)
	require.Equal(t, http.StatusForbidden, s.post(body, append(headers, "Authorization", "Bearer "+read)...).status)
	require.Equal(t, http.StatusForbidden, s.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`, "Authorization", "Bearer "+read).status)

	require.NoError(t, access.Revoke(t.Context(), s.tokens, "reader"))
	require.Equal(t, http.StatusUnauthorized, s.post(call("test.read"), "Authorization", "Bearer "+read).status)
	require.NoError(t, os.WriteFile(s.tokens, []byte("{"), 0o600))
	require.Equal(t, http.StatusUnauthorized, s.post(call("test.read"), "Authorization", "Bearer "+all).status, "a damaged file lets nobody in")
	for _, secret := range []string{read, all, webguard.Digest(read)} {
		require.NotContains(t, s.logged.String(), secret)
	}
	got = s.ask(http.MethodGet, "/.well-known/oauth-protected-resource/mcp", "")
	require.JSONEq(t, `{"resource":"https://savant.example/mcp","authorization_servers":["https://login.example"],"scopes_supported":["read","guide","run","approve"],
		"bearer_methods_supported":["header"],"resource_name":"Savant"}`, got.body)
}

func TestQuotas(t *testing.T) {
	s := serve(t, false)
	slow := "Bearer " + s.token(webguard.Token{Name: "slow", Scopes: []string{"read"}, PerMinute: 2})
	daily := "Bearer " + s.token(webguard.Token{Name: "daily", Scopes: []string{"read"}, PerDay: 2})
	for range 2 { // at once
		require.Equal(t, http.StatusOK, s.post(call("test.read"), "Authorization", slow).status)
		require.Equal(t, http.StatusOK, s.post(call("test.read"), "Authorization", daily).status)
	}
	for _, token := range []string{slow, daily} {
		got := s.post(call("test.read"), "Authorization", token)
		require.Equal(t, http.StatusTooManyRequests, got.status)
		require.Equal(t, "LIMIT_EXCEEDED", got.Error.Data.Error)
		require.NotEmpty(t, got.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusOK, s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization", daily).status, "lists are no calls")
}

// A name gives no token more: "local" is what programs of this machine are called in logs.
func TestATokenNamedLocal(t *testing.T) {
	s := serve(t, false, func(o *streamable.Options) { o.PerMinute = 2 })
	for _, name := range []string{"local", "another"} {
		token := "Bearer " + s.token(webguard.Token{Name: name, Scopes: []string{"read"}})
		for range 2 {
			require.Equal(t, http.StatusOK, s.post(call("test.read"), "Authorization", token).status, name)
		}
		require.Equal(t, http.StatusTooManyRequests, s.post(call("test.read"), "Authorization", token).status, name)
	}
	open := serve(t, true, func(o *streamable.Options) { o.PerMinute = 2 })
	for range 5 {
		require.Equal(t, http.StatusOK, open.post(call("test.read")).status, "a program of this machine needs no token")
	}
}

// A batch counts as the requests that it has.
func TestABatchCountsItsRequests(t *testing.T) {
	s := serve(t, false)
	batch := func(n int) string { return "[" + strings.Repeat(call("test.read")+",", n-1) + call("test.read") + "]" }
	send := func(token string, n int) *reply {
		return s.post(batch(n), "Mcp-Protocol-Version", "2025-03-26", "Authorization", token)
	}
	token := "Bearer " + s.token(webguard.Token{Name: "slow", Scopes: []string{"read"}, PerMinute: 6})
	require.Equal(t, http.StatusOK, send(token, 3).status)
	require.Equal(t, http.StatusOK, send(token, 2).status)
	got := send(token, 2)
	require.Equal(t, http.StatusTooManyRequests, got.status, got.body)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.NotContains(t, got.body, "structuredContent", "nothing of it is done")
	more := "Bearer " + s.token(webguard.Token{Name: "more", Scopes: []string{"read"}, PerMinute: 6})
	require.Equal(t, http.StatusTooManyRequests, send(more, 100).status, "more than a minute's requests at once")
	free := "Bearer " + s.token(webguard.Token{Name: "free", Scopes: []string{"read"}})
	require.Equal(t, http.StatusOK, send(free, 100).status)
	require.Equal(t, http.StatusBadRequest, send(free, 300).status, "a batch is bounded")
}

// Each of many tokens has its own quota, however many ask at once.
func TestQuotasOfManyTokens(t *testing.T) {
	const tokens, calls, perDay = 40, 8, 5
	s := serve(t, false)
	var all sync.WaitGroup
	accepted := make([]atomic.Int32, tokens)
	for n := range tokens {
		token := "Bearer " + s.token(webguard.Token{Name: fmt.Sprint("t", n), Scopes: []string{"read"}, PerDay: perDay})
		for range calls {
			all.Go(func() {
				answer, err := http.DefaultClient.Do(s.request(s.ctx, http.MethodPost, streamable.Path, strings.NewReader(call("test.read")), "Authorization", token))
				if err != nil {
					t.Error(err)
					return
				}
				defer answer.Body.Close()
				switch answer.StatusCode {
				case http.StatusOK:
					accepted[n].Add(1)
				case http.StatusTooManyRequests:
				default:
					t.Error(answer.Status)
				}
			})
		}
	}
	all.Wait()
	for n := range tokens {
		require.EqualValues(t, perDay, accepted[n].Load(), n)
	}
}

// Who asked is answered: a state that another token got hold of counts neither at the server
// that asked nor at another one, and one that is sent by many at once counts once.
func TestAStateOfAnotherToken(t *testing.T) {
	noted := access.Questions{Folder: t.TempDir(), Project: "/shop"}
	servers := []*served{serveNoting(t, false, noted), serveNoting(t, false, noted)}
	tokens := map[string][]string{}
	for _, name := range []string{"own", "other"} {
		for _, s := range servers {
			tokens[name] = append(tokens[name], s.token(webguard.Token{Name: name, Scopes: []string{"run", "approve"}}))
		}
	}
	asks := func(tool, token string) string {
		body, headers := modern(tool)
		var asked struct{ RequestState string }
		got := servers[0].post(body, append(headers, "Authorization", "Bearer "+token)...)
		require.NoError(t, json.Unmarshal(got.Result, &asked), got.body)
		require.NotEmpty(t, asked.RequestState)
		return asked.RequestState
	}
	for _, tool := range []string{"test_again", "test_ask"} {
		for at, s := range servers {
			body, headers := answered(tool, asks(tool, tokens["own"][0]), "")
			got := s.post(body, append(headers, "Authorization", "Bearer "+tokens["other"][at])...)
			require.Contains(t, got.body, `"resultType":"input_required"`, tool)
			require.NotContains(t, got.body, `"asked":true`, tool)
		}
		body, headers := answered(tool, asks(tool, tokens["own"][0]), "")
		var counted atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if strings.Contains(servers[0].post(body, append(headers, "Authorization", "Bearer "+tokens["own"][0])...).body, `"asked":true`) {
					counted.Add(1)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, counted.Load(), tool)
	}
	body, headers := answered("test_again", asks("test_again", tokens["own"][0]), "")
	require.Contains(t, servers[1].post(body, append(headers, "Authorization", "Bearer "+tokens["own"][1])...).body, `"asked":true`, "its own token, at another server")
}

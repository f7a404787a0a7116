package program

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// appHost is a client that shows pages, or one that does not. It lets its model do whatever
// a model may: call the tools that are not for pages alone, and read what is listed.
type appHost struct {
	formClient
	last int
}

const showsPages = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

func newAppHost(t *testing.T, folder, capabilities string, environment ...string) *appHost {
	t.Helper()
	h := &appHost{formClient: formClient{t, serveIn(t, folder, append([]string{"MCP_SERVICE=think"}, environment...)...)}}
	h.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"clientInfo":{"name":"host","version":"1"}}}`)
	h.hear()
	h.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return h
}

// ask sends a request and returns its reply, whole.
func (h *appHost) ask(method string, params any) string {
	h.t.Helper()
	h.last++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": h.last, "method": method, "params": params})
	require.NoError(h.t, err)
	h.say(string(line))
	require.True(h.t, h.s.lines.Scan())
	return h.s.lines.Text()
}

func (h *appHost) call(tool string, args any) string {
	h.t.Helper()
	return h.ask("tools/call", map[string]any{"name": tool, "arguments": args})
}

// key returns the key of a page that the host reads to show it.
func (h *appHost) key(uri string) string {
	h.t.Helper()
	page := h.ask("resources/read", map[string]any{"uri": uri})
	require.Contains(h.t, page, `"mimeType":"text/html;profile=mcp-app"`)
	require.Contains(h.t, page, `"connectDomains":[]`)
	require.Less(h.t, len(page), 60_000)
	require.NotRegexp(h.t, `(src|href)=|https?://`, strings.ReplaceAll(page, "http://www.w3.org/", ""), "it loads nothing")
	found := regexp.MustCompile(`let key = \\"([A-Z2-7]{26})\\"`).FindStringSubmatch(page)
	require.Len(h.t, found, 2, page)
	return found[1]
}

// shown returns what identifies the question that the page shows.
func (h *appHost) shown(run string) (digest string) {
	h.t.Helper()
	text := h.call("app_approve", map[string]any{"run_id": run, "step_id": "sure"})
	require.Contains(h.t, text, "Ship it?")
	var got struct {
		Result struct{ StructuredContent struct{ Digest string } }
	}
	require.NoError(h.t, json.Unmarshal([]byte(text), &got))
	return got.Result.StructuredContent.Digest
}

// pressed is the answer of a page with a key.
func pressed(run, digest, form, key string) map[string]any {
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte(strings.Join([]string{"ships", run, "sure", digest, form}, "\n")))
	return map[string]any{"workflow": "ships", "run_id": run, "step_id": "sure", "digest": digest, "form": form, "code": hex.EncodeToString(sum.Sum(nil))}
}

const yes = "comment=fine&decision=approve"

func TestAPersonApprovesInTheClient(t *testing.T) {
	t.Parallel()
	folder := shipsIn(t)
	h := newAppHost(t, folder, showsPages)
	const picture = `"icons":[{"src":"data:image/png;base64,iVBOR`
	require.Contains(t, h.ask("prompts/list", map[string]any{}), picture)
	list := h.ask("tools/list", map[string]any{})
	require.Equal(t, strings.Count(list, `"inputSchema":`), strings.Count(list, picture), "each tool has one")
	require.Contains(t, list, `"_meta":{"ui":{"resourceUri":"ui://savant/approve","visibility":["model","app"]}}`)
	require.Contains(t, list, `"_meta":{"ui":{"visibility":["app"]}}`)
	require.Contains(t, h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r1"}), `Call app_approve {\"workflow\"`)
	require.Contains(t, h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r1"}), `Call app_approve {\"workflow\"`, "asked anew")
	require.Contains(t, h.call("app_run", map[string]any{"run_id": "r1"}), `waiting for a person`)

	digest, key := h.shown("r1"), h.key("ui://savant/approve")
	require.Contains(t, h.call("app_decide", pressed("r1", digest, "comment=fine", key)), "Approve or decline.", "the page shows what is missing")
	require.Contains(t, h.call("app_decide", pressed("r1", digest, yes, key)), `"recorded":true`)
	require.JSONEq(t, `{"approved":true,"comment":"fine"}`, captured(t, folder, "r1", "sure"))

	asked := h.call("think_next", map[string]any{"run_id": "r1", "step_id": "sure"})
	require.Contains(t, asked, `"step_id":"where"`)
	require.Contains(t, asked, `Call app_ask`)
	require.Contains(t, h.call("app_ask", map[string]any{"run_id": "r1", "step_id": "where"}), "How many")
	h.key("ui://savant/ask")
	h.key("ui://savant/run")
}

// TestAModelDoesNotApprove: a scripted model tries every tool and everything that it can
// read, and the question still waits.
func TestAModelDoesNotApprove(t *testing.T) {
	t.Parallel()
	folder := shipsIn(t)
	h := newAppHost(t, folder, showsPages)
	h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r1"})
	digest, key := h.shown("r1"), h.key("ui://savant/approve")

	var seen strings.Builder // all that a model can see
	var list struct {
		Result struct {
			Tools []struct {
				Name string
				Meta struct {
					UI struct{ Visibility []string }
				} `json:"_meta"`
			}
			Resources []struct{ URI string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(h.ask("tools/list", map[string]any{})), &list))
	answers := map[string]any{"approved": true, "workflow": "ships", "run_id": "r1", "step_id": "sure", "digest": digest, "form": yes, "decision": "approve",
		"result_snapshot": map[string]any{"approved": true, "comment": "fine"}, "name": "ships", "code": digest, "to": "sure"}
	tried := 0
	for _, tool := range list.Result.Tools {
		if visible := tool.Meta.UI.Visibility; tool.Name == "think_reset" || visible != nil && !slices.Contains(visible, "model") {
			continue
		}
		tried++
		seen.WriteString(h.call(tool.Name, answers))
	}
	require.Greater(t, tried, 10)
	require.NoError(t, json.Unmarshal([]byte(h.ask("resources/list", map[string]any{})), &list))
	require.NotEmpty(t, list.Result.Resources)
	for _, each := range list.Result.Resources {
		require.NotContains(t, each.URI, "ui://")
		seen.WriteString(h.ask("resources/read", map[string]any{"uri": each.URI}))
	}
	seen.WriteString(h.ask("resources/templates/list", map[string]any{}))
	require.NotContains(t, seen.String(), key, "the key is in the page alone")

	// The host passes a call on that it should not.
	other := newAppHost(t, folder, showsPages)
	for name, args := range map[string]map[string]any{
		"no code":            {"workflow": "ships", "run_id": "r1", "step_id": "sure", "digest": digest, "form": yes, "code": ""},
		"the digest as key":  pressed("r1", digest, yes, digest),
		"the key as a code":  {"workflow": "ships", "run_id": "r1", "step_id": "sure", "digest": digest, "form": yes, "code": key},
		"of another session": pressed("r1", digest, yes, other.key("ui://savant/approve")),
		"of another run":     {"workflow": "ships", "run_id": "r1", "step_id": "sure", "digest": digest, "form": yes, "code": pressed("r2", digest, yes, key)["code"]},
		"of another answer":  {"workflow": "ships", "run_id": "r1", "step_id": "sure", "digest": digest, "form": yes, "code": pressed("r1", digest, "decision=decline", key)["code"]},
	} {
		require.Contains(t, h.call("app_decide", args), "APPROVAL_REQUIRED", name)
	}
	require.Contains(t, h.call("app_decide", pressed("r1", strings.Repeat("0", 64), yes, key)), "STATE_CONFLICT")
	require.Contains(t, h.call("think_explain", map[string]any{"run_id": "r1"}), `"status":"waiting"`)

	// The key of a page counts for one decision, also where the same is asked again; each
	// reading has its own.
	next := h.key("ui://savant/approve")
	require.NotEqual(t, key, next)
	used := pressed("r1", digest, yes, key)
	require.Contains(t, h.call("app_decide", used), `"recorded":true`)
	savantIn(t, folder, "state", "reset", "r1", "--to", "start", "--force")
	h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r1"})
	require.Contains(t, h.call("app_decide", used), "APPROVAL_REQUIRED")
	h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r2"})
	digest = h.shown("r2")
	require.Contains(t, h.call("app_decide", pressed("r2", digest, yes, key)), "APPROVAL_REQUIRED")
	require.Contains(t, h.call("app_decide", pressed("r2", digest, yes, next)), `"recorded":true`)
}

// TestAModelDoesNotApproveByTheProtocol: every tool of every service, prompts, completion,
// resources, and answers to questions that were never asked, each in both revisions. The
// question still waits.
func TestAModelDoesNotApproveByTheProtocol(t *testing.T) {
	t.Parallel()
	folder := shipsIn(t)
	h := &appHost{formClient: formClient{t, serveIn(t, folder)}}
	h.ask("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "model", "version": "1"}})
	h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r1"})
	latest := map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{
		"elicitation": map[string]any{"form": map[string]any{}}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}}
	accept := map[string]any{"action": "accept", "content": map[string]any{"approved": true, "comment": "fine"}}
	answers := map[string]any{"workflow": "ships", "run_id": "r1", "step_id": "sure", "name": "ships", "approved": true, "decision": "approve", "from": "r1", "goal": "approve r1",
		"digest": strings.Repeat("0", 64), "form": yes, "code": strings.Repeat("0", 64), "result_snapshot": map[string]any{"approved": true}, "question": "approve r1"}

	var list struct {
		Result struct {
			Tools, Prompts, Resources []struct{ Name, URI string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(h.ask("tools/list", map[string]any{})), &list))
	require.Greater(t, len(list.Result.Tools), 30)
	for _, tool := range append(list.Result.Tools, struct{ Name, URI string }{Name: "app_decide"}, struct{ Name, URI string }{Name: "app_approve"}) {
		if tool.Name != "think_reset" { // it takes the question away, and answers nothing
			h.call(tool.Name, answers)
			h.ask("tools/call", map[string]any{"name": tool.Name, "arguments": answers, "inputResponses": map[string]any{"question": accept}, "requestState": "AAAA.1"})
		}
	}
	require.NoError(t, json.Unmarshal([]byte(h.ask("prompts/list", map[string]any{})), &list))
	require.NoError(t, json.Unmarshal([]byte(h.ask("resources/list", map[string]any{})), &list))
	require.NotEmpty(t, list.Result.Prompts)
	for _, each := range list.Result.Prompts {
		h.ask("prompts/get", map[string]any{"name": each.Name, "arguments": map[string]any{"run_id": "r1", "approved": "true"}})
		h.ask("completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": each.Name}, "argument": map[string]any{"name": "approved", "value": "true"}})
	}
	for _, uri := range []string{"ui://savant/approve", "ui://savant/ask", "ui://savant/run"} {
		require.NotContains(t, h.ask("resources/read", map[string]any{"uri": uri}), "let key")
		require.NotContains(t, h.ask("resources/read", map[string]any{"uri": uri, "_meta": latest}), "let key")
	}
	for _, method := range []string{"tasks/update", "tasks/get", "app/decide", "elicitation/create"} {
		h.ask(method, map[string]any{"taskId": "r1", "inputResponses": map[string]any{"question": accept}, "_meta": latest})
	}
	for id := range 20 { // replies to questions that nobody asked
		h.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"action":"accept","content":{"approved":true}}}`, id))
	}
	require.Contains(t, h.call("think_explain", map[string]any{"run_id": "r1"}), `"status":"waiting"`)

	// A client with forms is asked. Only the person's answer to that very question counts.
	next := func(state string) string {
		return h.ask("tools/call", map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "sure"},
			"inputResponses": map[string]any{"question": accept}, "requestState": state, "_meta": latest})
	}
	next("AAAA.1")
	require.Contains(t, h.call("think_explain", map[string]any{"run_id": "r1"}), `"status":"waiting"`)
	asked := regexp.MustCompile(`"requestState":"([^"]+)"`).FindStringSubmatch(next("AAAA.1"))
	require.Len(t, asked, 2)
	require.Contains(t, next(asked[1]), "step where", "the next question")
}

// TestAnApprovalOfOthers: where the person at a client may not answer, nothing tells the model
// that they can, here or at the terminal.
func TestAnApprovalOfOthers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	places(t, folder, "workflows/ships.yaml", `name: ships
version: "1"
steps:
  - {id: sure, call: human.approve, input_template: {message: "Ship it?"}, approvers: [anna, ben]}
`)
	h := newAppHost(t, folder, showsPages)
	for _, said := range []string{h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r1"}), h.call("think_next", map[string]any{"run_id": "r1", "step_id": "sure"})} {
		require.Contains(t, said, "with their own token, since the step takes the answer of anna or ben")
		require.NotContains(t, said, "app_approve")
		require.NotContains(t, said, "approve r1")
	}
	require.Contains(t, h.call("app_approve", map[string]any{"run_id": "r1", "step_id": "sure"}), "not for the person at this client")
}

// TestAPageOverHTTP: a page needs no more of a token than what it does: to show, read; to take
// the answer, approve.
func TestAPageOverHTTP(t *testing.T) {
	t.Parallel()
	folder, configuration := shipsIn(t), "XDG_CONFIG_HOME="+t.TempDir()
	tokens := map[string]string{}
	for name, scopes := range map[string]string{"anna": "guide,approve", "robot": "run"} {
		add := exec.Command("savant", "token", "add", name, "--scope", scopes, "--path", folder)
		add.Env = append(os.Environ(), configuration)
		out, err := add.Output()
		require.NoError(t, err)
		tokens[name] = strings.TrimSpace(string(out))
	}
	s := serveHTTP(t, folder, configuration, "MCP_SERVICE=think")
	call := func(who, tool string, args map[string]any) string {
		var shows any
		require.NoError(t, json.Unmarshal([]byte(showsPages), &shows))
		return s.modernCall(t, tokens[who], tool, args, map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": shows}})
	}
	require.Contains(t, call("anna", "think_plan", map[string]any{"workflow": "ships", "run_id": "r1"}), "Call app_approve")
	step := map[string]any{"run_id": "r1", "step_id": "sure"}
	require.Contains(t, call("anna", "app_approve", step), "Ship it?")
	require.Contains(t, call("anna", "app_run", map[string]any{"run_id": "r1"}), "The run is shown")
	unsigned := map[string]any{"run_id": "r1", "step_id": "sure", "digest": "0", "form": yes, "code": "0"}
	require.Contains(t, call("anna", "app_decide", unsigned), "APPROVAL_REQUIRED")
	require.Contains(t, call("robot", "app_decide", unsigned), "TOOL_DENIED")
	require.NotContains(t, call("robot", "app_approve", step), "Ship it?")
}

// TestNoPagesForAClientWithoutThem: the tools are not there, and neither are the pages.
func TestNoPagesForAClientWithoutThem(t *testing.T) {
	t.Parallel()
	h := newAppHost(t, shipsIn(t), `{}`)
	require.NotContains(t, h.ask("tools/list", map[string]any{}), "app_")
	require.NotContains(t, h.call("think_plan", map[string]any{"workflow": "ships", "run_id": "r1"}), "app_")
	for _, tool := range []string{"app_approve", "app.decide", "app_run"} {
		require.Contains(t, h.call(tool, map[string]any{"run_id": "r1", "step_id": "sure"}), "UNKNOWN_TOOL")
	}
	require.Contains(t, h.ask("resources/read", map[string]any{"uri": "ui://savant/approve"}), "no resource")
}

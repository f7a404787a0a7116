package program

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/test/mongotest"
)

// modernCall makes a call of revision 2026-07-28 with a token, and returns the reply.
func (s *overHTTP) modernCall(t testing.TB, token, tool string, args any, more map[string]any) string {
	t.Helper()
	params := map[string]any{"name": tool, "arguments": args, "_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{}}}}
	for name, value := range more {
		params[name] = value
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address, bytes.NewReader(body))
	require.NoError(t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

// TestAnApprovalOfWhatWasNotAsked: the bearer of a token answers in the client for its user,
// but only what this user was asked. The question of a run is known to whoever knows its
// workflow; its state is not.
func TestAnApprovalOfWhatWasNotAsked(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		configuration := t.TempDir()
		testApprovals(t, configuration, "XDG_CONFIG_HOME="+configuration)
		notes, err := os.ReadDir(filepath.Join(configuration, "savant", "questions"))
		require.NoError(t, err)
		require.NotEmpty(t, notes, "questions that nobody answered")
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		testApprovals(t, "", "XDG_CONFIG_HOME="+t.TempDir(), "SAVANT_STORE=mongo", "MONGO_URI="+mongotest.Start(t).URI(mongotest.NewDatabase()))
	})
}

// testApprovals plays the attacks; notes has the notes of what was asked, "" for a database.
func testApprovals(t *testing.T, notes string, environment ...string) {
	folder := shipsIn(t)
	newToken := func(name string) string {
		add := exec.Command("savant", "token", "add", name, "--scope", "guide,approve", "--path", folder)
		add.Env = append(os.Environ(), environment...)
		out, err := add.Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	token, stranger := newToken("client"), newToken("stranger")
	first, second := serveHTTP(t, folder, environment...), serveHTTP(t, folder, environment...)
	yes := func(state string) map[string]any {
		return map[string]any{"requestState": state, "inputResponses": map[string]any{"question": map[string]any{"action": "accept", "content": map[string]any{"approved": true}}}}
	}
	next := func(run string) map[string]any {
		return map[string]any{"workflow": "ships", "run_id": run, "step_id": "sure"}
	}
	type question struct {
		Result struct {
			RequestState  string
			InputRequests struct {
				Question struct{ Params struct{ Message string } }
			}
		}
	}
	asked := func(run string) (q question) {
		require.NoError(t, json.Unmarshal([]byte(first.modernCall(t, token, "think_next", next(run), nil)), &q))
		require.NotEmpty(t, q.Result.RequestState)
		return q
	}
	asks := func(run string) string { return asked(run).Result.RequestState }
	waits := func(reply string) {
		t.Helper()
		require.Contains(t, reply, "Ship it?", "it asks again")
		require.Contains(t, reply, "input_required")
	}
	for _, run := range []string{"r1", "r2"} {
		first.modernCall(t, token, "think_plan", map[string]any{"workflow": "ships", "run_id": run}, nil)
	}
	const form = `{"type":"object","properties":{"approved":{"type":"boolean","title":"Approve"},"comment":{"type":"string","title":"Comment"}},"required":["approved"]}`
	shown := strings.ReplaceAll(asked("r1").Result.InputRequests.Question.Params.Message, "r1", "r2")
	for _, message := range []string{"Ship it?", shown} {
		sum := sha256.New()
		for _, part := range []string{"think.next", "r2", message, form} {
			fmt.Fprintf(sum, "%d %s", len(part), part)
		}
		for _, each := range []*overHTTP{first, second} {
			waits(each.modernCall(t, token, "think_next", next("r2"), yes("x."+hex.EncodeToString(sum.Sum(nil)))))
		}
	}
	waits(second.modernCall(t, token, "think_next", next("r2"), yes(asks("r1"))))

	state := asks("r1") // the twin: another server takes the answer to what was asked
	require.Contains(t, second.modernCall(t, token, "think_next", next("r1"), yes(state)), "Where to?")
	reset := first.modernCall(t, token, "think_reset", map[string]any{"workflow": "ships", "run_id": "r1", "checkpoint": "v1"}, nil)
	require.NotContains(t, reset, `"isError":true`)
	waits(second.modernCall(t, token, "think_next", next("r1"), yes(state)))
	waits(first.modernCall(t, token, "think_next", next("r1"), yes(state)))

	// The question of think.plan, of a run that the call itself began, or continued.
	for number, plan := range []map[string]any{{"workflow": "ships"}, {"workflow": "ships", "run_id": "r3"}} {
		var q question
		require.NoError(t, json.Unmarshal([]byte(first.modernCall(t, token, "think_plan", plan, nil)), &q))
		state, at := q.Result.RequestState, strings.LastIndex(q.Result.RequestState, ".")
		waits(second.modernCall(t, stranger, "think_plan", plan, yes(state)))
		waits(second.modernCall(t, token, "think_plan", plan, yes(state[:at]+".r2")))
		require.Contains(t, second.modernCall(t, token, "think_plan", plan, yes(state)), "Where to?", number)
		waits(second.modernCall(t, token, "think_plan", map[string]any{"workflow": "ships"}, yes(state+"?")))
	}

	// Of a no and a yes in one message neither counts, and the question still waits.
	twice := strings.Replace(`{"question":{"action":"decline"},"question":YES}`, "YES", `{"action":"accept","content":{"approved":true}}`, 1)
	require.Contains(t, first.modernCall(t, token, "think_next", next("r2"), map[string]any{"requestState": asks("r2"), "inputResponses": json.RawMessage(twice)}), "twice")
	stolen := asks("r2")
	name, when, _ := strings.Cut(stolen, ".")
	began, about, _ := strings.Cut(when, ".")
	milliseconds, err := strconv.ParseInt(began, 10, 64)
	require.NoError(t, err)
	later := fmt.Sprintf("%s.%d.%s", name, milliseconds+3_600_000, about)
	foreign := next("r2")
	foreign["state_version"] = 1
	for _, each := range []*overHTTP{second, first} {
		waits(each.modernCall(t, token, "think_next", next("r2"), yes(later)))
		waits(each.modernCall(t, token, "think_next", next("r2"), yes(strings.ToLower(name)+"."+when)))
		waits(each.modernCall(t, stranger, "think_next", next("r2"), yes(stolen)))
		require.NotContains(t, each.modernCall(t, token, "think_next", foreign, yes(stolen)), "Where to?")
	}
	if notes != "" { // an hour later
		expire(t, filepath.Join(notes, "savant", "questions"))
		waits(second.modernCall(t, token, "think_next", next("r2"), yes(stolen)))
		pending := asks("r2")
		expire(t, filepath.Join(notes, "savant", "questions"))
		waits(first.modernCall(t, token, "think_next", next("r2"), yes(pending)))
	}
	require.Contains(t, second.modernCall(t, token, "think_next", next("r2"), yes(asks("r2"))), "Where to?")
}

// expire makes the notes of a folder an hour older.
func expire(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, each := range entries {
		past := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(folder, each.Name()), past, past))
	}
}

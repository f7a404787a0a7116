package program

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// notice is a message that a receiver of notifications got.
type notice struct {
	id, text string
	valid    bool // its signature
}

// receiver takes signed messages; the first attempt of each fails.
func receiver(t *testing.T, secret string) (address string, heard <-chan notice) {
	t.Helper()
	got, seen := make(chan notice, 100), map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		id := r.Header.Get("Webhook-Id")
		if !seen[id] {
			seen[id] = true
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		sum := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(sum, "%s.%s.%s", id, r.Header.Get("Webhook-Timestamp"), body)
		got <- notice{id, string(body), r.Header.Get("Webhook-Signature") == "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil))}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/hook?key=private", got
}

// heardNext waits for a message, which has to be signed.
func heardNext(t *testing.T, heard <-chan notice) notice {
	t.Helper()
	select {
	case found := <-heard:
		require.True(t, found.valid, found.text)
		return found
	case <-time.After(30 * time.Second):
		require.Fail(t, "nothing was told")
		return notice{}
	}
}

// TestAQuestionIsToldAgain: once remind_after or escalate_after has passed without an answer,
// a signed message of its own says so, once.
func TestAQuestionIsToldAgain(t *testing.T) {
	skipInShort(t)
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
	for _, due := range []string{"remind", "escalate"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", due+".yaml"), []byte("name: "+due+"\nversion: \"1\"\nsteps:\n"+
			"  - {id: sure, call: human.approve, input_template: {message: \"Sure?\"}, "+due+"_after: 1s}\n"), 0o600))
	}
	address, heard := receiver(t, "the secret of it")
	t.Setenv("SAVANT_HUB_NOTIFY", address+"#the secret of it")
	h := serveHub(t, folder)
	told := map[string]int{}
	for i, run := range []string{"remind", "escalate", "remind"} {
		name := fmt.Sprintf("r%d", i)
		savantIn(t, folder, "workflows", "run", run, "--name", name)
		for told["question."+run+" "+name] == 0 {
			var read struct {
				Type string
				Data struct{ Run, Link string }
			}
			require.NoError(t, json.Unmarshal([]byte(heardNext(t, heard).text), &read))
			require.Equal(t, h.base+"/runs/"+[]string{"remind", "escalate", "remind"}[i]+"/"+name, read.Data.Link)
			told[read.Type+" "+read.Data.Run]++
		}
	}
	for what, count := range told {
		require.Equal(t, 1, count, what)
	}
}

// TestAQuestionIsTold: the hub posts a signed message for each question to a person, once,
// with its first line and the link, and no value or secret.
func TestAQuestionIsTold(t *testing.T) {
	skipInShort(t)
	folder := shipsIn(t)
	address, heard := receiver(t, "the secret of it")
	t.Setenv("SAVANT_HUB_NOTIFY", address)
	out, err := exec.Command("savant", "hub", "--address", "127.0.0.1:0", "--path", folder).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "ADDRESS#SECRET")
	t.Setenv("SAVANT_HUB_NOTIFY", address+"#the secret of it")
	h := serveHub(t, folder)
	next := func() notice { return heardNext(t, heard) }
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r1", "--param", "message=Ship ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa?\nsecond line")
	asked := next()
	var read struct {
		Type string
		Data struct{ Workflow, Run, Step, Message, Link string }
	}
	require.NoError(t, json.Unmarshal([]byte(asked.text), &read))
	require.Equal(t, "question.asked", read.Type)
	require.Equal(t, [3]string{"ships", "r1", "sure"}, [3]string{read.Data.Workflow, read.Data.Run, read.Data.Step})
	require.Equal(t, h.base+"/runs/ships/r1", read.Data.Link)
	require.Contains(t, read.Data.Message, "Ship ")
	require.NotContains(t, asked.text, "ghp_aaaa")
	require.NotContains(t, asked.text, "second line")
	require.NotContains(t, asked.text, "risk")

	require.NoError(t, os.Mkdir(filepath.Join(folder, "rules"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules", "push.yaml"), []byte(askingRules), 0o600))
	hook := exec.Command("savant", "hook", "claude-code", "--path", folder)
	hook.Stdin = strings.NewReader(`{"session_id":"s1","cwd":"` + folder + `","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git push"}}`)
	_, _ = hook.CombinedOutput()
	rule := next()
	require.Contains(t, rule.text, "Run git push?")
	require.NotEqual(t, asked.id, rule.id)
	savantIn(t, folder, "workflows", "run", "ships", "--name", "r2")
	require.Contains(t, next().text, `"run":"r2"`, "what was told is not told again")
	require.Empty(t, heard)
}

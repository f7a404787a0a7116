package program

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"savant/reasoning"
)

// decider is a Reasoning API that plays a script of answers, whichever step
// asks: by the step, so that a run that is resumed meets the answer it is due.
type decider struct {
	mu      sync.Mutex
	answers []json.RawMessage
	asked   map[int]int // how often each step was answered
}

func (d *decider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request reasoning.Request
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil || r.Header.Get("Authorization") != "Bearer the-token-of-the-test" {
		http.Error(w, "not like this", http.StatusUnauthorized)
		return
	}
	d.mu.Lock()
	d.asked[request.Step]++
	answer := json.RawMessage(`{"action":"finish","final":"the script is over"}`)
	if request.Step <= len(d.answers) {
		answer = d.answers[request.Step-1]
	}
	d.mu.Unlock()
	_, _ = w.Write(answer)
}

// decides starts a Reasoning API that plays the answers of a file and points
// the environment to it: decides answers.json.
func decides(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: decides FILE")
	}
	d := &decider{asked: map[int]int{}}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &d.answers))
	server := httptest.NewServer(d)
	ts.Defer(server.Close)
	ts.Setenv("REASONING_API_URL", server.URL)
	ts.Setenv("REASONING_API_TOKEN", "the-token-of-the-test")
}

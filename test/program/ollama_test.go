package program

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// ollama is a scripted Ollama: it has models, and each answers its lines in their
// order, the last one again and again. It answers in parts if it is asked to.
type ollama struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string][]string // by model
	asked   []ollamaRequest
}

// ollamaRequest is what matters of POST /api/chat.
type ollamaRequest struct {
	Model    string
	Stream   bool
	Messages []struct{ Role, Content string }
	Format   json.RawMessage
}

func newOllama(t *testing.T, answers map[string][]string) *ollama {
	t.Helper()
	o := &ollama{answers: answers}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", o.tags)
	mux.HandleFunc("POST /api/chat", o.chat)
	o.Server = httptest.NewServer(mux)
	t.Cleanup(o.Close)
	return o
}

func (o *ollama) tags(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for name := range o.answers {
		list = append(list, map[string]any{"name": name, "model": name})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"models": list})
}

func (o *ollama) chat(w http.ResponseWriter, r *http.Request) {
	request := ollamaRequest{Stream: true}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	o.asked = append(o.asked, request)
	lines := o.answers[request.Model]
	if len(lines) == 0 {
		lines = o.answers[request.Model+":latest"]
	}
	if len(lines) == 0 {
		o.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":"model not found, try pulling it first"}`))
		return
	}
	name := request.Model
	if o.answers[name] == nil {
		name += ":latest"
	}
	if len(lines) > 1 {
		o.answers[name] = lines[1:]
	}
	o.mu.Unlock()
	parts := []string{lines[0]}
	if request.Stream {
		parts = strings.SplitAfter(lines[0], " ")
	}
	encoder := json.NewEncoder(w)
	for i, part := range parts {
		answer := map[string]any{"model": request.Model, "message": map[string]any{"role": "assistant", "content": part}, "done": i == len(parts)-1}
		if i == len(parts)-1 {
			answer["prompt_eval_count"], answer["eval_count"] = 100, 10
		}
		_ = encoder.Encode(answer)
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
	}
}

// models are those that were asked, in order.
func (o *ollama) models() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, each := range o.asked {
		names = append(names, each.Model)
	}
	return names
}

// traceOf returns the events in the trace of a project.
func traceOf(t *testing.T, folder string) []telemetry.Event {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, telemetry.TraceFile))
	require.NoError(t, err)
	var events []telemetry.Event
	for line := range bytes.Lines(text) {
		var e telemetry.Event
		require.NoError(t, json.Unmarshal(line, &e))
		events = append(events, e)
	}
	return events
}

// ofType are the events of a type.
func ofType(events []telemetry.Event, kind telemetry.Type) []telemetry.Event {
	var found []telemetry.Event
	for _, each := range events {
		if each.Type == kind {
			found = append(found, each)
		}
	}
	return found
}

// runtimeLog is logs/agent_runtime.log without the time and the run of each line.
func runtimeLog(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, telemetry.RuntimeFile))
	require.NoError(t, err)
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(line, " ")
		_, rest, _ = strings.Cut(rest, " ")
		out.WriteString(rest)
	}
	return out.String()
}

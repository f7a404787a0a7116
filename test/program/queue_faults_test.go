//go:build unix

package program

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/reasoning"
	"savant/reasoning/mongoqueue"
	"savant/test/mongotest"
)

// payment is a model that counts how often it was paid for each question.
type payment struct {
	*httptest.Server
	mu   sync.Mutex
	paid map[string]int
}

var named = regexp.MustCompile(`question-\d+`)

func newPayment(t *testing.T) *payment {
	p := &payment{paid: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"models":[{"name":"phi3.5:latest","model":"phi3.5:latest"}]}`))
	})
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
		var request ollamaRequest
		if json.NewDecoder(r.Body).Decode(&request) != nil {
			return
		}
		question := ""
		for _, message := range request.Messages {
			if found := named.FindString(message.Content); found != "" {
				question = found
			}
		}
		p.mu.Lock()
		p.paid[question]++
		p.mu.Unlock()
		select { // a model takes its time
		case <-r.Context().Done():
		case <-time.After(30 * time.Millisecond):
		}
		intent, _ := json.Marshal(map[string]any{"action": "finish", "final": "the answer to " + question, "reasoning": "as asked"})
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "phi3.5", "done": true, "prompt_eval_count": 10, "eval_count": 5,
			"message": map[string]any{"role": "assistant", "content": string(intent)}})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// TestEveryQuestionIsAnsweredOnce kills workers and the database at random moments, and
// stops a worker until others have taken over what it held. When it wakes, it writes late.
func TestEveryQuestionIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	questions, kills := 24, 3
	if os.Getenv("CI") != "" {
		questions, kills = 40, 6
	}
	database := mongotest.Start(t)
	proxy := mongotest.NewProxy(t, database, 5)
	uri, model, random := proxy.URI(mongotest.NewDatabase()), newPayment(t), rand.New(rand.NewPCG(5, 6))
	folder := t.TempDir()
	worker := func() *exec.Cmd {
		command := exec.Command("savant", "reasoning", "work", "--concurrency", "2", "--lease", "1s", "--attempts", "50")
		command.Env = append(os.Environ(), "SAVANT_PATH="+folder, "MONGO_URI="+uri, "LLM_PROVIDER=ollama", "SLM_MODEL=phi3.5", "OLLAMA_HOST="+model.URL, "LOG_LEVEL=error")
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
		return command
	}
	workers := []*exec.Cmd{worker(), worker(), worker()}

	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	opened, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	defer opened.Close(context.Background())
	client := reasoning.New(reasoning.Options{Transport: mongoqueue.New(opened), Timeout: time.Minute, Retries: 1000})
	ask := func(i int) string {
		name := fmt.Sprintf("question-%03d", i)
		intent, err := client.Decide(ctx, reasoning.Request{RunID: "run" + name, Step: 1, Goal: name}, reasoning.Unobserved{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return intent.Final
	}
	answers := make([]string, questions)
	var asking sync.WaitGroup
	answered := make(chan int, questions)
	for i := range questions {
		asking.Go(func() {
			answers[i] = ask(i)
			answered <- i
		})
	}
	stopped := workers[0]
	require.NoError(t, stopped.Process.Signal(syscall.SIGSTOP))
	for range kills {
		select { // between two answers, whenever that is
		case <-answered:
		case <-ctx.Done():
			t.Fatal("no answer comes any more")
		}
		if random.IntN(3) == 0 && !database.Foreign() {
			database.Kill()
			database.Restart()
			proxy.Follow(database)
			continue
		}
		i := 1 + random.IntN(2)
		require.NoError(t, workers[i].Process.Kill())
		_ = workers[i].Wait()
		workers[i] = worker()
	}
	asking.Wait()
	require.NoError(t, stopped.Process.Signal(syscall.SIGCONT))
	paid, extra := 0, 0
	for i, answer := range answers {
		require.Equal(t, fmt.Sprintf("the answer to question-%03d", i), answer)
		require.Equal(t, answer, ask(i), "asked again, it has the same answer")
	}
	model.mu.Lock()
	defer model.mu.Unlock()
	for _, n := range model.paid {
		paid, extra = paid+n, extra+n-1
	}
	require.Len(t, model.paid, questions)
	require.LessOrEqual(t, extra, (kills+1)*2, "only what a killed or stopped worker held is paid again; paid %d for %d", paid, questions)
}

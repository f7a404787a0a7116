package program

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/mongo"
	"savant/reasoning"
	"savant/reasoning/mongoqueue"
	"savant/test/mongotest"
)

// A worker forwards to a Reasoning API. One whose model is down says so and waits: its
// questions are answered when the model is there.
func TestAWorkerForwardsAndWaits(t *testing.T) {
	t.Parallel()
	uri := mongotest.Start(t).URI(mongotest.NewDatabase())
	database, err := mongo.Open(mongo.Options{Address: mongo.Address{URI: uri}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Close(context.Background()) })
	client := reasoning.New(reasoning.Options{Transport: mongoqueue.New(database), Timeout: 2 * time.Minute})

	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"action":"finish","final":"forwarded"}`)
	}))
	defer api.Close()
	_, end := startWorker(t, uri, "REASONING_API_URL="+api.URL)
	intent, err := client.Decide(t.Context(), reasoning.Request{RunID: "forwarded", Step: 1, Goal: "x"}, reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "forwarded", intent.Final)
	end()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close()) // nothing listens there for now
	said, end := startWorker(t, uri, "SLM_MODEL=openai:m", "OPENAI_BASE_URL=http://"+address+"/v1")
	defer end()
	answers := make(chan string, 1)
	go func() {
		intent, err := client.Decide(t.Context(), reasoning.Request{RunID: "waits", Step: 1, Goal: "x"}, reasoning.Unobserved{})
		answers <- intent.Final + fmt.Sprint(err)
	}()
	require.Eventually(t, func() bool { return bytes.Contains(said(), []byte("cannot be reached")) }, time.Minute, 10*time.Millisecond)
	listener, err = net.Listen("tcp", address)
	require.NoError(t, err)
	model := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"choices":[{"message":{"content":"{\"action\":\"finish\",\"final\":\"there\"}"},"finish_reason":"stop"}]}`)
	})}}
	model.Start()
	defer model.Close()
	require.Equal(t, "there<nil>", <-answers)
}

// startWorker starts a worker. said returns what it wrote so far.
func startWorker(t *testing.T, uri string, variables ...string) (said func() []byte, end func()) {
	t.Helper()
	worker := exec.Command("savant", "reasoning", "work", "--path", t.TempDir())
	worker.Env = append(append(os.Environ(), "MONGO_URI="+uri), variables...)
	var mu sync.Mutex
	var written bytes.Buffer
	output, err := worker.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		for part := make([]byte, 4096); ; {
			n, err := output.Read(part)
			mu.Lock()
			written.Write(part[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = worker.Process.Kill()
			<-read
			_ = worker.Wait()
		}
	}
	t.Cleanup(end)
	return func() []byte {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Clone(written.Bytes())
	}, end
}

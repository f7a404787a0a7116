package service_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
	"savant/reasoning/service"
)

// counting is a model that answers after a while, with the number of the call.
type counting struct {
	took  time.Duration
	calls int
	err   error
}

func (*counting) Name() string { return "counting" }

func (c *counting) Generate(ctx context.Context, _ models.Prompt) (models.Reply, error) {
	c.calls++
	number := c.calls
	select {
	case <-time.After(c.took):
	case <-ctx.Done():
		return models.Reply{}, ctx.Err()
	}
	return models.Reply{Text: fmt.Sprintf(`{"action":"finish","final":"answer %d"}`, number)}, c.err
}

func TestTheServiceInsideIsPaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &counting{took: time.Second}
		observed := reasoning.NewObserved(nil)
		inside := service.New(service.Options{SLM: model})
		client := reasoning.New(reasoning.Options{Transport: inside})
		first, err := client.Decide(t.Context(), whole(), observed)
		require.NoError(t, err)
		again, err := client.Decide(t.Context(), whole(), observed)
		require.NoError(t, err)
		require.Equal(t, 1, model.calls)
		require.False(t, first.Cached)
		require.True(t, again.Cached)
		require.Equal(t, "answer 1", again.Final)
		calls := observed.Calls()
		require.Equal(t, []bool{false, true}, []bool{calls[0].Cached, calls[1].Cached})

		other := whole()
		other.Step = 4
		answer, err := client.Decide(t.Context(), other, reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "answer 2", answer.Final, "another step")
		other.Step, other.Goal = 3, "another goal under the same id"
		answer, err = client.Decide(t.Context(), other, reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "answer 3", answer.Final, "another question")

		time.Sleep(service.AnswersTTL)
		answer, err = client.Decide(t.Context(), whole(), reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, "answer 4", answer.Final, "too late")
	})
}

// Two that ask the same at once wait for one answer; one that leaves does not end
// what the other waits for, and the last one does.
func TestAQuestionIsDecidedOnceForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := &counting{took: time.Minute}
		inside := service.New(service.Options{SLM: model})
		leaving, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		gone, stays := make(chan error), make(chan error)
		go func() { _, err := inside.RoundTrip(leaving, whole(), reasoning.Unobserved{}); gone <- err }()
		go func() { _, err := inside.RoundTrip(t.Context(), whole(), reasoning.Unobserved{}); stays <- err }()
		require.ErrorIs(t, <-gone, context.DeadlineExceeded)
		require.NoError(t, <-stays)
		require.Equal(t, 1, model.calls)

		other := whole()
		other.Step++
		leaving, leave = context.WithTimeout(t.Context(), time.Second)
		defer leave()
		_, err := inside.RoundTrip(leaving, other, reasoning.Unobserved{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = inside.RoundTrip(t.Context(), other, reasoning.Unobserved{})
		require.NoError(t, err)
		require.Equal(t, 3, model.calls, "nobody waited, so it was ended and asked anew")
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	model := &counting{err: fault.New(fault.ReasoningUnavailable, "down")}
	inside := service.New(service.Options{SLM: model})
	for range 2 {
		_, err := inside.RoundTrip(t.Context(), whole(), reasoning.Unobserved{})
		require.ErrorIs(t, err, fault.ReasoningUnavailable)
	}
	require.Equal(t, 2, model.calls)
}

// post asks a handler directly: time stands still while it waits.
func post(t *testing.T, handler http.Handler, body []byte, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, reasoning.Endpoint, strings.NewReader(string(body)))
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

// If a model is slower than its callers, its answer is paid for once: the callers get a
// reply to ask again, or give up, and all of them get the same answer in the end.
func TestASlowModelIsPaidOnce(t *testing.T) {
	schema := requestSchema(t)
	body, err := whole().Encode()
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		model := &counting{took: 7 * time.Second}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		handler := service.NewHandler(service.HandlerOptions{Decider: service.New(service.Options{SLM: model}), Schema: schema, Base: ctx})
		began := time.Now()
		for range 2 {
			answer := post(t, handler, body, "Idempotency-Key", "k", "Prefer", `respond-async, wait=3`)
			require.Equal(t, http.StatusAccepted, answer.Code)
			require.NotEmpty(t, answer.Header().Get("Retry-After"))
		}
		answer := post(t, handler, body, "Idempotency-Key", "k", "Prefer", `respond-async; wait="3"`)
		require.Equal(t, http.StatusOK, answer.Code, answer.Body)
		require.Equal(t, 7*time.Second, time.Since(began))
		require.Contains(t, answer.Body.String(), "answer 1")
		again := post(t, handler, body, "Idempotency-Key", "k")
		require.Contains(t, again.Body.String(), `"cached":true`)
		require.Contains(t, again.Body.String(), "answer 1")
		require.Equal(t, 1, model.calls)

		answer = post(t, handler, body, "Prefer", "respond-async, wait=3")
		require.Contains(t, answer.Body.String(), "answer 2", "without a key nobody could ask again")
		answer = post(t, handler, body, "Idempotency-Key", "other")
		require.Contains(t, answer.Body.String(), "answer 3")
	})
}

// gated answers once its gate is open.
type gated struct {
	counting
	gate chan struct{}
}

func (g *gated) Generate(ctx context.Context, prompt models.Prompt) (models.Reply, error) {
	select {
	case <-g.gate:
	case <-ctx.Done():
	}
	return g.counting.Generate(ctx, prompt)
}

// The model answers when the client asks for the second time.
func TestAClientWaitsForASlowModel(t *testing.T) {
	t.Parallel()
	model := &gated{gate: make(chan struct{})}
	handler := service.NewHandler(service.HandlerOptions{Decider: service.New(service.Options{SLM: model}), Schema: requestSchema(t)})
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 2 {
			close(model.gate)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	transport, err := reasoning.NewHTTP(reasoning.HTTPOptions{URL: server.URL})
	require.NoError(t, err)
	t.Cleanup(transport.Close)
	client := reasoning.New(reasoning.Options{Transport: transport, Timeout: 1500 * time.Millisecond, Retries: 2})
	intent, err := client.Decide(t.Context(), whole(), reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "answer 1", intent.Final)
	require.Equal(t, 1, model.calls)
}

// When the server ends nothing goes on.
func TestTheEndOfTheServerEndsDecisions(t *testing.T) {
	schema := requestSchema(t)
	body, err := whole().Encode()
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		handler := service.NewHandler(service.HandlerOptions{Decider: service.New(service.Options{SLM: slow{}}), Schema: schema, Base: ctx})
		require.Equal(t, http.StatusAccepted, post(t, handler, body, "Idempotency-Key", "k", "Prefer", "respond-async, wait=0").Code)
		stop()
		synctest.Wait() // a goroutine that is left would fail the test
	})
}

// Answers in a folder outlive the program, until their time is over. What cannot be read
// there counts for nothing.
func TestAnswersOutliveTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		folder, err := os.OpenRoot(path)
		require.NoError(t, err)
		defer folder.Close()
		model := &counting{}
		schema := requestSchema(t)
		body, err := whole().Encode()
		require.NoError(t, err)
		ask := func(key string) string {
			handler := service.NewHandler(service.HandlerOptions{Decider: service.New(service.Options{SLM: model}), Schema: schema, Folder: folder})
			answer := post(t, handler, body, "Idempotency-Key", key)
			require.Equal(t, http.StatusOK, answer.Code, answer.Body)
			return answer.Body.String()
		}
		require.NoError(t, os.WriteFile(path+"/damaged.json", []byte("{"), 0o600))
		require.Contains(t, ask("r/1"), "answer 1")
		require.Contains(t, ask("r/2"), "answer 2")
		require.Contains(t, ask("r/1"), `"final":"answer 1"`)
		require.Contains(t, ask("r/1"), `"cached":true`)
		files, err := os.ReadDir(path)
		require.NoError(t, err)
		require.Len(t, files, 2)
		time.Sleep(service.AnswersTTL + time.Second)
		require.Contains(t, ask("r/3"), "answer 3")
		files, err = os.ReadDir(path)
		require.NoError(t, err)
		require.Len(t, files, 1)
	})
}

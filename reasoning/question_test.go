package reasoning_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
	"savant/reasoning"
)

// ask is the request of a question.
func ask(change func(*reasoning.Question), input string, notes ...string) reasoning.Request {
	asked := reasoning.Question{Workflow: "review", StepID: "judge_0", Attempt: 1, Issued: 3, Schema: json.RawMessage(`{"type":"object"}`)}
	if change != nil {
		change(&asked)
	}
	return reasoning.Request{SessionID: "r1", RunID: "r1", Step: asked.Attempt, Policy: reasoning.Policy{Notes: notes}}.Ask(asked, json.RawMessage(input))
}

func TestAQuestionHoldsTaskAndData(t *testing.T) {
	schema := published(t, "reasoning_request")
	for input, want := range map[string][3]string{ // goal, task, data
		`{"task":"Judge.","patch":"+a\n","files":["a"],"n":9007199254740993}`: {
			"Judge.\n\nInput:\n" + `{"files":["a"],"n":9007199254740993,"patch":"+a\n"}`, "Judge.", `{"files":["a"],"n":9007199254740993,"patch":"+a\n"}`},
		`{"task":"Greet Ada."}`:        {"Greet Ada.", "Greet Ada.", ""},
		`{"prompt":"Judge.","n":1}`:    {`Input:` + "\n" + `{"prompt":"Judge.","n":1}`, `Input:` + "\n" + `{"prompt":"Judge.","n":1}`, ""},
		`{"task":["a"]}`:               {"Input:\n" + `{"task":["a"]}`, "Input:\n" + `{"task":["a"]}`, ""},
		`"Judge."`:                     {"Input:\n" + `"Judge."`, "Input:\n" + `"Judge."`, ""},
		`{"task":"Input:","a":"\n\n"}`: {"Input:\n\nInput:\n" + `{"a":"\n\n"}`, "Input:", `{"a":"\n\n"}`},
	} {
		request := ask(nil, input)
		require.Equal(t, want, [3]string{request.Goal, request.Question.Task, request.Data()}, input)
		body, err := request.Encode()
		require.NoError(t, err)
		value, err := jsonvalue.Decode(body)
		require.NoError(t, err)
		require.NoError(t, schema.Check(value))
	}
}

// Two questions have the same key only if the same is asked.
func TestTheKeyNamesTheQuestion(t *testing.T) {
	const input = `{"task":"Judge.","patch":"a"}`
	first := ask(nil, input)
	require.Equal(t, first.Key(), ask(nil, input).Key())
	require.Regexp(t, `^r1/judge_0/1/[0-9a-f]{16}$`, first.Key())
	seen := map[string]bool{first.Key(): true, reasoning.Request{RunID: "r1", Step: 1}.Key(): true}
	for name, other := range map[string]reasoning.Request{
		"another run":        func() reasoning.Request { r := first; r.RunID = "r2"; return r }(),
		"another item":       ask(func(q *reasoning.Question) { q.StepID = "judge_1" }, input),
		"another attempt":    ask(func(q *reasoning.Question) { q.Attempt = 2 }, input),
		"after a reset":      ask(func(q *reasoning.Question) { q.Issued = 5 }, input),
		"another workflow":   ask(func(q *reasoning.Question) { q.Workflow = "other" }, input),
		"another schema":     ask(func(q *reasoning.Question) { q.Schema = nil }, input),
		"other data":         ask(nil, `{"task":"Judge.","patch":"b"}`),
		"another diagnostic": ask(nil, input, "it was refused"),
	} {
		require.False(t, seen[other.Key()], name)
		seen[other.Key()] = true
	}
}

// A service that says that it is still deciding is asked again with the same key, and
// that is no failed attempt: a slow model is paid once.
func TestAServiceThatIsStillDecidingIsAskedAgain(t *testing.T) {
	var keys []string
	client := overHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		require.Equal(t, "respond-async, wait=89", r.Header.Get("Prefer"))
		if len(keys) < 4 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		_, _ = w.Write([]byte(finish))
	}, 0)
	intent, err := client.Decide(t.Context(), question, reasoning.Unobserved{})
	require.NoError(t, err)
	require.Equal(t, "done", intent.Final)
	require.Equal(t, []string{"r1/3", "r1/3", "r1/3", "r1/3"}, keys)
}

func TestWaitingForADecisionIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := fails(&reasoning.Pending{After: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := reasoning.New(reasoning.Options{Transport: &script{still, still, still, still}, Timeout: time.Second}).Decide(ctx, question, reasoning.Unobserved{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

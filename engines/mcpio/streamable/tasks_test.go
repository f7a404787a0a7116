package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines/mcpio/streamable"
	"savant/internal/webguard"
)

const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// task is a task as a client sees it.
type task struct {
	ResultType    string                     `json:"resultType"`
	ID            string                     `json:"taskId"`
	Status        string                     `json:"status"`
	Life          int64                      `json:"ttlMs"`
	Result        *struct{ IsError bool }    `json:"result"`
	InputRequests map[string]json.RawMessage `json:"inputRequests"`
}

// tasked posts a request of a client that takes tasks.
func (s *served) tasked(token, method, name, params string) (*reply, task) {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{` + params + `,` + tasksMeta + `}}`
	got := s.post(body, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name, "Authorization", "Bearer "+token)
	var read task
	if got.Result != nil {
		require.NoError(s.t, json.Unmarshal(got.Result, &read), got.body)
	}
	return got, read
}

func (s *served) about(token, method, id string, more ...string) (*reply, task) {
	s.t.Helper()
	params := `"taskId":"` + id + `"`
	for _, each := range more {
		params += "," + each
	}
	return s.tasked(token, method, id, params)
}

// stands waits until a task has a status.
func (s *served) stands(token, id, status string) task {
	s.t.Helper()
	for {
		_, read := s.about(token, "tasks/get", id)
		if read.Status == status {
			return read
		}
		require.NoError(s.t, s.ctx.Err(), "it is %s, not %s", read.Status, status)
		time.Sleep(5 * time.Millisecond)
	}
}

// TestATaskBelongsToItsCaller gives a long call to a client that takes tasks, and lets
// another one try to see, answer and cancel it.
func TestATaskBelongsToItsCaller(t *testing.T) {
	s := serve(t, false)
	own := s.token(webguard.Token{Name: "own", Scopes: []string{"run"}})
	other := s.token(webguard.Token{Name: "other", Scopes: []string{"run", "approve"}})
	_, made := s.tasked(own, "tools/call", "test_wait", `"name":"test_wait","arguments":{}`)
	require.Equal(t, "task", made.ResultType)
	require.Equal(t, "working", made.Status)
	require.NotZero(t, made.Life)
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		got, _ := s.about(other, method, made.ID, `"inputResponses":{}`)
		require.Equal(t, -32602, got.Error.Code, method)
		require.Contains(t, got.Error.Data.Details, "another caller's")
	}
	got, _ := s.about(own, "tasks/update", made.ID, `"inputResponses":{}`)
	require.Equal(t, http.StatusForbidden, got.status, "an answer of the user needs the scope")
	require.Equal(t, "working", s.stands(own, made.ID, "working").Status)
	s.release <- struct{}{}
	require.False(t, s.stands(own, made.ID, "completed").Result.IsError)
	got, _ = s.about(own, "tasks/cancel", made.ID)
	require.Nil(t, got.Error, "an ended one may be cancelled")
	require.Equal(t, "completed", s.stands(own, made.ID, "completed").Status)
	got, _ = s.tasked(own, "tasks/get", "something", `"taskId":"`+made.ID+`"`)
	require.Equal(t, -32020, got.Error.Code, "the header names another")
	got, _ = s.tasked(own, "tasks/get", made.ID, `"taskId":"something","taskId":"`+made.ID+`"`)
	require.Contains(t, got.body, "taskId appears twice")
	for _, other := range []string{"~~", "A~B~C", strings.Repeat("A", 26) + "~x~$(y)", "../x"} {
		got, _ = s.about(own, "tasks/get", other)
		require.Equal(t, `there is no task "`+other+`"`, got.Error.Data.Details, "nothing is known of its run")
	}

	_, made = s.tasked(own, "tools/call", "test_wait", `"name":"test_wait","arguments":{}`)
	s.about(own, "tasks/cancel", made.ID)
	require.Nil(t, s.stands(own, made.ID, "cancelled").Result)
	require.NoError(t, <-s.ended)
	require.ErrorIs(t, <-s.ended, context.Canceled, "the tool was told")
}

// TestATaskIsFollowedOnAStream has the caller of a task told how it stands; another caller is told
// of nothing.
func TestATaskIsFollowedOnAStream(t *testing.T) {
	s := serve(t, false)
	own := s.token(webguard.Token{Name: "own", Scopes: []string{"run"}})
	other := s.token(webguard.Token{Name: "other", Scopes: []string{"run"}})
	_, made := s.tasked(own, "tools/call", "test_wait", `"name":"test_wait","arguments":{}`)
	follow := func(token string) *bufio.Scanner {
		body := `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["` + made.ID + `"]},` + tasksMeta + `}}`
		answer, err := http.DefaultClient.Do(s.request(s.ctx, http.MethodPost, streamable.Path, strings.NewReader(body),
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen", "Authorization", "Bearer "+token))
		require.NoError(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		return bufio.NewScanner(answer.Body)
	}
	nothing := follow(other)
	require.NotContains(t, nextEvent(t, nothing), made.ID)
	require.Contains(t, nextEvent(t, nothing), `"id":9`, "it ends at once")
	told := follow(own)
	require.Contains(t, nextEvent(t, told), `"taskIds":["`+made.ID+`"]`)
	require.Contains(t, nextEvent(t, told), `"status":"working"`)
	s.release <- struct{}{}
	require.Contains(t, nextEvent(t, told), `"status":"completed"`)
	require.Contains(t, nextEvent(t, told), `"id":9`)
}

// TestAClientWithoutTasksWaits gets the results of the same call at once, or when it ends.
func TestAClientWithoutTasksWaits(t *testing.T) {
	s := serve(t, true)
	_, quick := s.tasked("", "tools/call", "test_read", `"name":"test_read","arguments":{}`)
	require.Equal(t, "complete", quick.ResultType, "what is quick needs no task")
	body, headers := modern("test_wait")
	go func() { <-s.begun; time.Sleep(time.Second / 2); close(s.release) }()
	require.Contains(t, s.post(body, headers...).body, `"waited":true`)
	got := s.post(`{"jsonrpc":"2.0","id":9,"method":"tasks/get","params":{"taskId":"x",`+body[len(body)-len(`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`):],
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tasks/get", "Mcp-Name", "x")
	require.Equal(t, -32021, got.Error.Code, got.body)
}

// TestATaskThatHasEndedMakesRoom fills what one caller may have with calls that go on. The
// next call waits; once a task has ended, it makes room.
func TestATaskThatHasEndedMakesRoom(t *testing.T) {
	s := serve(t, true)
	const most = 256
	made := make(chan task, most)
	var calling sync.WaitGroup
	for range most {
		calling.Go(func() {
			_, one := s.tasked("", "tools/call", "test_wait", `"name":"test_wait","arguments":{}`)
			made <- one
		})
	}
	calling.Wait()
	first := <-made
	require.Equal(t, "task", first.ResultType)
	s.release <- struct{}{} // one of those that run
	<-s.ended
	require.Eventually(t, func() bool {
		_, one := s.tasked("", "tools/call", "test_wait", `"name":"test_wait","arguments":{}`)
		return one.ResultType == "task"
	}, hang, 10*time.Millisecond)
}

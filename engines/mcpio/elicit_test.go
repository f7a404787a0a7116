package mcpio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/fault"
)

const helloForms = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"test","version":"1"}}}`

// formsMeta is the _meta of a 2026-07-28 client with forms.
const formsMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

// greet initializes and drops the reply.
func (w *wire) greet(hello string) {
	w.t.Helper()
	w.send(hello)
	w.next()
}

// What the person does, or the client cannot, reaches the tool.
func TestElicitation(t *testing.T) {
	cases := map[string]struct{ answer, want string }{
		"accept":         {`"result":{"action":"accept","content":{"name":"Ada","age":9007199254740993}}`, `{"action":"accept","content":{"name":"Ada","age":9007199254740993}}`},
		"decline":        {`"result":{"action":"decline"}`, `{"action":"decline","content":null}`},
		"cancel":         {`"result":{"action":"cancel"}`, `{"action":"cancel","content":null}`},
		"error":          {`"error":{"code":-32601,"message":"no forms today"}`, `TOOL_FAILED`},
		"unknown action": {`"result":{"action":"shrug"}`, `TOOL_FAILED`},
		"not UTF-8":      {"\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"A\xff\"}}", `text is not UTF-8`},
		"no result":      {`"result":[]`, `TOOL_FAILED`},
		"neither":        {`"params":{}`, `TOOL_FAILED`},
		"two results":    {`"result":{"action":"accept"},"result":{"action":"decline"}`, `TOOL_FAILED`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := dial(t, options(t, asking()))
			w.greet(helloForms)
			w.send(callLine(1, "test.ask", `{}`))
			asked := w.nextMessage()
			require.Equal(t, "elicitation/create", asked.Method)
			require.JSONEq(t, `{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`, string(asked.Params))
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, asked.ID, c.answer))
			lines, err := w.rest() // the reply, and an error for what cannot be read
			require.NoError(t, err)
			require.Contains(t, strings.Join(lines, "\n"), `"id":1,"result"`)
			require.Contains(t, strings.ReplaceAll(strings.Join(lines, "\n"), `\"`, `"`), c.want)
		})
	}
}

// A request that cannot be read, with an id of the client's own, answers no question.
func TestARequestThatCannotBeReadIsNoAnswer(t *testing.T) {
	w := dial(t, options(t, asking()))
	w.greet(helloForms)
	w.send(callLine(2, "test.ask", `{}`))
	asked := w.nextMessage()
	w.send(fmt.Sprintf(`{"jsonrpc":"1.0","id":%s,"method":"ping"}`, asked.ID))
	require.Contains(t, w.next(), `"error":{"code":-32600`)
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, asked.ID))
	require.JSONEq(t, `{"action":"decline","content":null}`, string(w.nextMessage().tool(t).Struct))
}

// A client without the capability, or with another mode only, is not asked.
func TestNoElicitationWithoutForms(t *testing.T) {
	for capabilities, want := range map[string]string{`{}`: `{"asked":false}`, `{"elicitation":{"url":{}}}`: `neither show a form nor open a page`} {
		w := dial(t, options(t, asking()))
		w.greet(strings.Replace(hello, `"capabilities":{}`, `"capabilities":`+capabilities, 1))
		w.send(callLine(1, "test.ask", `{}`))
		require.Contains(t, string(w.nextMessage().tool(t).Struct), want)
	}
}

// opening asks a question that has a page, and says how it was answered.
func opening() engines.Tool {
	return tool("test.ask", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		answer, err := call.Person.Ask(ctx, engines.Elicitation{Message: "Sure?", URL: "https://hub.example/runs/w/r"})
		if ctx.Err() != nil {
			return map[string]any{"waited": true}, nil
		}
		return map[string]any{"action": answer.Action, "unseen": answer.Unseen}, err
	})
}

// A form that the client declines before a person can have read it was not seen: the page
// of the hub comes next. Who opens it answers there, and the call waits for that.
func TestADeclineByTheClientIsNoAnswer(t *testing.T) {
	hello := strings.Replace(helloForms, `"elicitation":{}`, `"elicitation":{"form":{},"url":{}}`, 1)
	for name, c := range map[string]struct {
		after      time.Duration
		page, want string
	}{
		"a person declined":   {300 * time.Millisecond, "", `{"action":"decline","unseen":false}`},
		"and opened the page": {0, "accept", `{"waited":true}`},
		"and did not open it": {0, "decline", `{"action":"cancel","unseen":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := dial(t, options(t, opening()))
				w.greet(hello)
				w.send(callLine(1, "test.ask", `{}`))
				form := w.nextMessage()
				require.NotContains(t, string(form.Params), "hub.example")
				time.Sleep(c.after)
				w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, form.ID))
				next := w.nextMessage()
				if c.page != "" {
					require.Contains(t, string(next.Params), `"mode":"url","message":"Sure?"`)
					require.Contains(t, string(next.Params), `"url":"https://hub.example/runs/w/r"`)
					w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, next.ID, c.page))
					next = w.nextMessage()
				}
				require.JSONEq(t, c.want, string(next.tool(t).Struct))
			})
		})
	}
}

// The same by replies, as from 2026-07-28 on.
func TestADeclineByTheClientIsNoAnswerInARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, options(t, opening()))
		call := func(id int, more string) message {
			w.send(strings.Replace(modernCall(id, "test.ask", more), `"elicitation":{"form":{}}`, `"elicitation":{"form":{},"url":{}}`, 1))
			return w.nextMessage()
		}
		form := call(1, "").tool(t)
		page := call(2, fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":{"action":"decline"}},`, form.State)).tool(t)
		require.Contains(t, string(page.Input["question"]), "https://hub.example/runs/w/r")
		time.Sleep(time.Second)
		done := call(3, fmt.Sprintf(`"requestState":%q,"inputResponses":{"question":{"action":"accept"}},`, page.State)).tool(t)
		require.JSONEq(t, `{"waited":true}`, string(done.Struct))
	})
}

// The same in a task, whose client looks when it likes: the question is as old as its first
// look.
func TestADeclineByTheClientIsNoAnswerInATask(t *testing.T) {
	const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	for after, want := range map[time.Duration]string{0: `{"action":"decline","unseen":true}`, time.Second: `{"action":"decline","unseen":false}`} {
		synctest.Test(t, func(t *testing.T) {
			w := dial(t, options(t, tool("test.ask", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
				time.Sleep(time.Second)
				answer, err := call.Person.Ask(ctx, engines.Elicitation{Message: "Sure?"})
				return map[string]any{"action": answer.Action, "unseen": answer.Unseen}, err
			})))
			var task struct {
				TaskID        string
				InputRequests map[string]json.RawMessage
				Result        struct{ StructuredContent json.RawMessage }
			}
			ask := func(method, params string) {
				w.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `,` + tasksMeta + `}}`)
				require.NoError(t, json.Unmarshal(w.nextMessage().Result, &task))
			}
			ask("tools/call", `"name":"test_ask","arguments":{}`)
			about := `"taskId":"` + task.TaskID + `"`
			time.Sleep(5 * time.Second)
			ask("tasks/get", about)
			require.Len(t, task.InputRequests, 1)
			time.Sleep(after)
			ask("tasks/get", about)
			for id := range task.InputRequests {
				ask("tasks/update", about+`,"inputResponses":{"`+id+`":{"action":"decline"}}`)
			}
			synctest.Wait()
			ask("tasks/get", about)
			require.JSONEq(t, want, string(task.Result.StructuredContent))
		})
	}
}

// Questions hold no place: any number of people may think while others work.
func TestQuestionsHoldNoPlace(t *testing.T) {
	o := options(t)
	o.Registry = engines.NewRegistry(engines.Options{})
	require.NoError(t, o.Registry.AddEngine(engines.Engine{Name: "test", Concurrency: 1}, asking(), echo()))
	w := dial(t, o)
	w.greet(helloForms)
	const questions = 100
	var asked []message
	for i := range questions {
		w.send(callLine(i, "test.ask", `{}`))
		asked = append(asked, w.nextMessage())
	}
	w.send(callLine(questions, "test.echo", `{}`))
	require.Equal(t, fmt.Sprint(questions), string(w.nextMessage().ID))
	for _, one := range asked {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"cancel"}}`, one.ID))
	}
	lines, err := w.rest()
	require.NoError(t, err)
	require.Len(t, lines, questions)
}

// A cancelled call withdraws its question and gets no reply.
func TestCancelledCallWithdrawsItsQuestion(t *testing.T) {
	w := dial(t, options(t, asking()))
	w.greet(helloForms)
	w.send(callLine(1, "test.ask", `{}`))
	asked := w.nextMessage()
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	withdrawn := w.nextMessage()
	require.Equal(t, "notifications/cancelled", withdrawn.Method)
	require.Contains(t, string(withdrawn.Params), string(asked.ID))
	lines, err := w.rest()
	require.NoError(t, err)
	require.Empty(t, lines)
}

// A client that leaves with a question open gets the call's coded error.
func TestQuestionOfAClientThatLeaves(t *testing.T) {
	w := dial(t, options(t, asking()))
	w.greet(helloForms)
	w.send(callLine(1, "test.ask", `{}`))
	w.next()
	lines, err := w.rest()
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], string(fault.EngineOffline))
}

// A client that leaves after its user opened the page gets it, too, and does not hold the
// server up until somebody has answered there.
func TestAnOpenPageOfAClientThatLeaves(t *testing.T) {
	opened := func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		return call.Person.Ask(ctx, engines.Elicitation{Message: "Sure?", URL: "https://hub.example/runs/w/r"})
	}
	pages := func(text string) string {
		return strings.NewReplacer(`"elicitation":{}`, `"elicitation":{"url":{}}`, `"elicitation":{"form":{}}`, `"elicitation":{"url":{}}`).Replace(text)
	}
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		synctest.Test(t, func(t *testing.T) {
			w, began := dial(t, options(t, tool("test.ask", opened))), time.Now()
			if revision == "2025-06-18" {
				w.greet(pages(helloForms))
				w.send(callLine(1, "test.ask", `{}`))
				w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept"}}`, w.nextMessage().ID))
			} else {
				w.send(pages(modernCall(1, "test.ask", "")))
				w.send(pages(retry(2, w.nextMessage().tool(t).State, `"question":{"action":"accept"}`)))
			}
			time.Sleep(time.Second)
			lines, err := w.rest()
			require.NoError(t, err)
			require.Contains(t, strings.Join(lines, ""), string(fault.EngineOffline), revision)
			require.Less(t, time.Since(began), time.Minute, revision)
		})
	}
}

// Two questions at once, of one call, in either order.
func TestTwoQuestionsAtOnce(t *testing.T) {
	both := tool("test.both", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		ask := call.Person
		other := make(chan engines.Answer, 1)
		go func() {
			answer, _ := ask.Ask(ctx, engines.Elicitation{Message: "two"})
			other <- answer
		}()
		one, err := ask.Ask(ctx, engines.Elicitation{Message: "one"})
		return []string{one.Action, (<-other).Action}, err
	})
	w := dial(t, options(t, both))
	w.greet(helloForms)
	w.send(callLine(1, "test.both", `{}`))
	for range 2 {
		asked := w.nextMessage()
		action := "accept"
		if strings.Contains(string(asked.Params), "two") {
			action = "decline"
		}
		defer w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, asked.ID, action))
	}
	t.Cleanup(func() { require.JSONEq(t, `{"result":["accept","decline"]}`, string(w.nextMessage().tool(t).Struct)) })
}

func modernCall(id int, name, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,%s%s}}`, id, name, more, formsMeta)
}

func retry(id int, state, answer string) string {
	return modernCall(id, "test.ask", fmt.Sprintf(`"requestState":%q,"inputResponses":{%s},`, state, answer))
}

// From 2026-07-28 the question is a result, and the retry brings the answer to
// the call that still runs.
func TestElicitationByRetry(t *testing.T) {
	cases := map[string]struct{ answer, want string }{
		"accept": {`"question":{"action":"accept","content":{"age":9007199254740993}}`, `{"action":"accept","content":{"age":9007199254740993}}`},
		"absent": {``, `{"action":"cancel","content":null}`},
		"broken": {`"question":7`, `TOOL_FAILED`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := dial(t, options(t, asking()))
			w.send(modernCall(1, "test.ask", ""))
			asked := w.nextMessage().tool(t)
			require.Equal(t, "input_required", asked.Type)
			require.Contains(t, string(asked.Input["question"]), "Your name?")
			w.send(retry(2, asked.State, c.answer))
			done := w.nextMessage().tool(t)
			require.Equal(t, "complete", done.Type)
			require.Contains(t, string(done.Struct), c.want)
		})
	}
}

// A token serves once; after that the call begins anew and asks again.
func TestRetryTokenServesOnce(t *testing.T) {
	w := dial(t, options(t, asking()))
	w.send(modernCall(1, "test.ask", ""))
	first := w.nextMessage().tool(t)
	w.send(retry(2, first.State, `"question":{"action":"decline"}`))
	require.Equal(t, "complete", w.nextMessage().tool(t).Type)
	w.send(retry(3, first.State, `"question":{"action":"decline"}`))
	again := w.nextMessage().tool(t)
	require.Equal(t, "input_required", again.Type)
	require.NotEqual(t, first.State, again.State)
}

// A new call of a run ends the question its client has left open.
func TestNewCallEndsSuspendedOne(t *testing.T) {
	ended := make(chan error, 1)
	ask := tool("test.ask", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		_, err := call.Person.Ask(ctx, engines.Elicitation{Message: "?"})
		ended <- err
		return nil, err
	})
	o := options(t, ask, echo())
	w := dial(t, o)
	w.send(modernCall(1, "test.ask", `"arguments":{"run_id":"a"},`))
	require.Equal(t, "input_required", w.nextMessage().tool(t).Type)
	w.send(modernCall(2, "test.echo", `"arguments":{"run_id":"b"},`))
	require.Equal(t, "2", string(w.nextMessage().ID))
	require.Empty(t, ended, "another run's call ended it")
	w.send(modernCall(3, "test.echo", `"arguments":{"run_id":"a"},`))
	require.Equal(t, "3", string(w.nextMessage().ID))
	require.Len(t, ended, 1)
	require.ErrorIs(t, <-ended, fault.EngineOffline)
}

// At the end of the input nothing is left suspended (goleak sees to it), and the
// question was answered as a result.
func TestSuspendedCallsEndWithTheirClient(t *testing.T) {
	w := dial(t, options(t, asking()))
	w.send(modernCall(1, "test.ask", ""))
	lines, err := w.rest()
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "input_required")
}

// A cancelled call that could ask ends its tool and gets no reply.
func TestCancelledModernCall(t *testing.T) {
	slow := newGate()
	w := dial(t, options(t, slow.tool("test.slow")))
	w.send(modernCall(1, "test.slow", ""))
	slow.await(t)
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	lines, err := w.rest()
	require.NoError(t, err)
	require.Empty(t, lines)
}

// A suspended call reports on the token of the request that now waits for it.
func TestProgressAcrossRetries(t *testing.T) {
	w := dial(t, options(t, tool("test.ask", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		caller := call
		caller.Progress(1, 2, "")
		answer, err := caller.Person.Ask(ctx, engines.Elicitation{Message: "?"})
		caller.Progress(2, 2, "")
		return answer.Action, err
	})))
	withToken := func(line, token string) string {
		return strings.Replace(line, `"_meta":{`, `"_meta":{"progressToken":"`+token+`",`, 1)
	}
	w.send(withToken(modernCall(1, "test.ask", ""), "first"))
	require.Contains(t, w.next(), `"progressToken":"first","progress":1`)
	state := w.nextMessage().tool(t).State
	w.send(withToken(retry(2, state, `"question":{"action":"accept"}`), "second"))
	require.Contains(t, w.next(), `"progressToken":"second","progress":2`)
	require.JSONEq(t, `{"result":"accept"}`, string(w.nextMessage().tool(t).Struct))
}

// A client that never comes back does not keep its call for ever. The clock is
// synctest's.
func TestSuspendedCallExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended error
		w := dial(t, options(t, tool("test.ask", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
			_, ended = call.Person.Ask(ctx, engines.Elicitation{Message: "?"})
			return nil, ended
		})))
		w.send(modernCall(1, "test.ask", ""))
		state := w.nextMessage().tool(t).State
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		require.ErrorIs(t, ended, fault.EngineOffline)
		w.send(retry(2, state, ""))
		require.NotEqual(t, state, w.nextMessage().tool(t).State, "the call began anew")
		_, err := w.rest()
		require.NoError(t, err)
	})
}

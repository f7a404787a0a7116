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
	"savant/engines/mcpio"
	"savant/internal/jsonrpc"
)

// watched returns options whose lists change when the channel is sent one.
func watched(t *testing.T) (mcpio.Options, chan<- string) {
	t.Helper()
	changes := make(chan string)
	o := options(t, echo())
	o.Offer = offer()
	o.Offer.Watch = func(ctx context.Context, changed func(string)) error {
		for {
			select {
			case list := <-changes:
				changed(list)
			case <-ctx.Done():
				return nil
			}
		}
	}
	return o, changes
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// An initialized client is notified of changes; another client is not.
func TestListChanged(t *testing.T) {
	o, changes := watched(t)
	w := dial(t, o)
	changes <- "prompts"
	changes <- "nothing we publish" // taken when the one before is dealt with
	w.greet(hello)
	changes <- "prompts"
	changes <- "resources"
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`, w.next())
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`, w.next())
}

// The list of tools is the registry's current one, and clients are notified when it
// changes. Tools that a client could not use are left out.
func TestToolsComeAndGo(t *testing.T) {
	o := options(t, echo())
	w := dial(t, o)
	w.greet(hello)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	w.next()
	untitled := tool("test.untitled", echo().Call)
	untitled.Title = ""
	require.NoError(t, o.Registry.ReplaceTools("test", tool("test.late", echo().Call), untitled))
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, w.next())
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	list := w.next()
	require.Contains(t, list, `"test_late"`)
	require.NotContains(t, list, "untitled")
	require.NotContains(t, list, "test_echo")
}

// From 2026-07-28 on a client gets the changes that it subscribed to, under the id of
// its request, until it leaves.
func TestSubscriptionsListen(t *testing.T) {
	o, changes := watched(t)
	w := dial(t, o)
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true,"toolsListChanged":true},%s}}`, modernMeta))
	acknowledged := w.nextMessage()
	require.Equal(t, "notifications/subscriptions/acknowledged", acknowledged.Method)
	require.Contains(t, string(acknowledged.Params), `"promptsListChanged":true`)
	require.Contains(t, string(acknowledged.Params), `"toolsListChanged":true`)
	changes <- "resources"
	changes <- "prompts"
	changed := w.nextMessage()
	require.Equal(t, "notifications/prompts/list_changed", changed.Method)
	require.JSONEq(t, `{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}`, string(changed.Params))
	lines, err := w.rest()
	require.NoError(t, err)
	require.Contains(t, lines[len(lines)-1], `"id":"sub","result"`, "the request is answered when the client leaves")
}

// A change made when a listener sees that its stream has begun is sent to it.
func TestAStreamThatBeginsMissesNoChange(t *testing.T) {
	o := options(t, echo())
	server, err := mcpio.New(o)
	require.NoError(t, err)
	exchanges := server.Exchanges()
	defer exchanges.Close()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	sent := make(chan any, 1)
	begin := func() error {
		require.NoError(t, o.Registry.ReplaceTools("test", tool("test.late", echo().Call)))
		select {
		case message := <-sent:
			require.Equal(t, "notifications/tools/list_changed", message.(jsonrpc.Notification).Method)
		case <-ctx.Done():
			require.Fail(t, "the change is lost")
		}
		return errPlain
	}
	exchanges.Listen(ctx, begin, func(message any) error {
		sent <- message
		return nil
	})
	require.NoError(t, ctx.Err(), "a stream that cannot begin ends Listen")
}

// A cancelled subscription is over, without a reply.
func TestCancelledSubscription(t *testing.T) {
	o, _ := watched(t)
	w := dial(t, o)
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},%s}}`, modernMeta))
	require.Contains(t, w.next(), "acknowledged")
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	lines, err := w.rest()
	require.NoError(t, err)
	require.Empty(t, lines)
}

// Subscribing needs the revision that has it.
func TestSubscriptionsListenInOlderRevisions(t *testing.T) {
	o, _ := watched(t)
	w := dial(t, o)
	w.greet(hello)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true}}}`)
	require.Equal(t, -32601, w.nextMessage().Error.Code)
}

// What is not offered is not in the capabilities.
func TestCapabilitiesAreHonest(t *testing.T) {
	w := dial(t, options(t, echo()))
	w.send(hello)
	require.Contains(t, w.next(), `"capabilities":{"tools":{"listChanged":true}}`)
	for _, method := range []string{"prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list", "completion/complete"} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":"any","uri":"savant:any"}}`, method))
		require.Equal(t, -32601, w.nextMessage().Error.Code, method)
	}
	o := options(t, echo())
	o.Offer = offer()
	o.Offer.Watch = nil
	w = dial(t, o)
	w.send(hello)
	require.Equal(t, 1, strings.Count(w.next(), "listChanged"), "only the registry will tell of changes")
}

// A watch that fails or panics is logged, and the server goes on.
func TestBrokenWatch(t *testing.T) {
	for name, watch := range map[string]func(context.Context, func(string)) error{
		"fails":  func(context.Context, func(string)) error { return errPlain },
		"panics": func(context.Context, func(string)) error { panic(errPlain) },
	} {
		t.Run(name, func(t *testing.T) {
			book := &logBook{}
			o, _ := watched(t)
			o.Offer.Watch, o.Logger = watch, book.logger()
			w := dial(t, o)
			w.greet(hello)
			require.Eventually(t, func() bool { return strings.Contains(book.String(), "hunter2") }, hang, time.Millisecond)
			_, err := w.rest()
			require.NoError(t, err)
		})
	}
}

// TestATaskTellsHowItStands has a client follow a task: the question and the result come as
// notifications, and the subscription ends with the task. Another client's task and an unknown
// one are left out, and who takes no tasks is refused.
func TestATaskTellsHowItStands(t *testing.T) {
	const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := dial(t, options(t, tool("test.sure", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
			<-g.open
			answer, err := call.Person.Ask(ctx, engines.Elicitation{Message: "Sure?"})
			return map[string]any{"said": answer.Action}, err
		})))
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_sure","arguments":{},` + tasksMeta + `}}`)
		var made struct{ TaskID string }
		require.NoError(t, json.Unmarshal(w.nextMessage().Result, &made))
		listen := `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"taskIds":["` + made.TaskID + `","unknown"]},`
		w.send(listen + modernMeta + `}}`)
		require.Equal(t, -32021, w.nextMessage().Error.Code)

		w.send(listen + tasksMeta + `}}`)
		acknowledged := w.nextMessage()
		require.JSONEq(t, `{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"taskIds":["`+made.TaskID+`"]}}`, string(acknowledged.Params))
		told := func(status string) (asked map[string]json.RawMessage, result json.RawMessage) {
			note := w.nextMessage()
			require.Equal(t, "notifications/tasks", note.Method)
			var task struct {
				Meta          map[string]string `json:"_meta"`
				TaskID        string
				Status        string
				InputRequests map[string]json.RawMessage
				Result        struct{ StructuredContent json.RawMessage }
			}
			require.NoError(t, json.Unmarshal(note.Params, &task))
			require.Equal(t, status, task.Status)
			require.Equal(t, made.TaskID, task.TaskID)
			require.Equal(t, "sub", task.Meta["io.modelcontextprotocol/subscriptionId"])
			return task.InputRequests, task.Result.StructuredContent
		}
		told("working")
		close(g.open)
		asked, _ := told("input_required")
		require.Len(t, asked, 1)
		for id := range asked {
			w.send(`{"jsonrpc":"2.0","id":2,"method":"tasks/update","params":{"taskId":"` + made.TaskID + `","inputResponses":{"` + id + `":{"action":"accept"}},` + tasksMeta + `}}`)
		}
		require.Equal(t, `2`, string(w.nextMessage().ID))
		_, result := told("completed")
		require.JSONEq(t, `{"said":"accept"}`, string(result))
		require.Equal(t, `"sub"`, string(w.nextMessage().ID), "it ends with its last task")
	})
}

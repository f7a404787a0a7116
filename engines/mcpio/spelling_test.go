package mcpio_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/fault"
)

const said = "call test.say, then test.saying or a/test.say; test.say. savant approve r1, not Savant or ./savant run"

func spellingServer() mcpio.Options {
	registry := engines.NewRegistry(engines.Options{})
	say := engines.Bind("test.say", said, func(ctx context.Context, _ struct{}) (map[string]string, error) {
		return nil, fault.New(fault.InvalidParams, "%s", said).With(fault.Diagnostic{Message: said, Expected: "test.say"})
	})
	note := engines.BindCall("test.note", "Answers a note.", func(_ context.Context, call engines.Call, _ struct{}) (map[string]string, error) {
		return map[string]string{"note": call.Spelled(said), "data": said}, nil
	})
	say.Title, note.Title = "Say", "Note"
	if err := registry.Add(say, note); err != nil {
		panic(err)
	}
	return mcpio.Options{Registry: registry, Command: "/opt/savant --path /a", Offer: engines.Offer{Instructions: said,
		Prompts: func(context.Context) ([]engines.Prompt, error) {
			return []engines.Prompt{{Name: "how", Get: func(_ context.Context, client engines.Caller, _ map[string]string) (string, error) {
				return client.Spelled(said), nil
			}}}, nil
		}}}
}

// What Savant says names tools as the client's list does, and commands as they can
// be run; what a tool answers is left as it is.
func TestTextsNameToolsAsTheyAreListed(t *testing.T) {
	for client, list := range map[string]string{"x": "test_say", "savant": "test.say"} {
		want := strings.Replace(strings.Replace(said, "call test.say", "call "+list, 1), "; test.say. savant", "; "+list+". /opt/savant --path /a", 1)
		w := dial(t, spellingServer())
		w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"` + client + `","version":"1"}}}`)
		quoted, err := json.Marshal(want)
		require.NoError(t, err)
		text := strings.Trim(string(quoted), `"`)
		require.Contains(t, w.next(), `"instructions":"`+text+`"`)
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_say"}}`)
		answer := w.next()
		require.Contains(t, answer, `"structuredContent":{"error":"INVALID_PARAMS","details":"`+text+`"`)
		require.Contains(t, answer, `"message":"`+text+`","expected":"test.say"`)
		w.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"test_note"}}`)
		answer = w.next()
		require.Contains(t, answer, `"note":"`+text+`"`)
		require.Contains(t, answer, `"data":"`+said+`"`)
		w.send(`{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"how"}}`)
		require.Contains(t, w.next(), `"text":"`+text+`"`)
		w.send(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
		listed := w.next()
		require.Contains(t, listed, `"name":"`+list+`"`)
		require.Contains(t, listed, `"description":"`+text+`"`)
	}
}

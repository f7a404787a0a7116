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

// A tool a client could not use is refused, and named.
func TestPublishableNamesTheBadTool(t *testing.T) {
	cases := map[string]struct {
		spoil func(*engines.Tool)
		named string // what is missing, or the limit
	}{
		"no title":         {func(t *engines.Tool) { t.Title = " " }, "title"},
		"long name":        {func(t *engines.Tool) { t.Name = "test." + strings.Repeat("x", 44) }, "48"},
		"long description": {func(t *engines.Tool) { t.Description = strings.Repeat("x", 2001) }, "2000"},
		"too large": {func(t *engines.Tool) {
			t.Input = json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 17_000) + `"}`)
		}, "16384"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			bad := echo()
			c.spoil(&bad)
			err := mcpio.Publishable(bad)
			require.ErrorIs(t, err, fault.ValidationFailed)
			require.ErrorContains(t, err, bad.Name)
			require.ErrorContains(t, err, c.named)
		})
	}
}

func TestNewRefusesBadOptions(t *testing.T) {
	_, err := mcpio.New(mcpio.Options{})
	require.ErrorIs(t, err, fault.Internal)

	o := options(t, echo())
	o.Offer.ResourceTemplates = []engines.ResourceTemplate{{URITemplate: "savant://{"}}
	_, err = mcpio.New(o)
	require.ErrorIs(t, err, fault.ValidationFailed)
}

// Dots are listed to Savant's own client; never both spellings at once.
func TestToolNames(t *testing.T) {
	cases := []struct{ client, want string }{
		{"", "test_echo"},
		{"claude-code", "test_echo"},
		{"savant", "test.echo"},
		{"Savant", "test.echo"},
		{"not savant", "test_echo"},
	}
	for _, c := range cases {
		w := dial(t, options(t, echo()))
		w.greet(strings.Replace(hello, `"name":"test"`, `"name":"`+c.client+`"`, 1))
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		var list struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(w.nextMessage().Result, &list))
		require.Len(t, list.Tools, 1)
		require.Equal(t, c.want, list.Tools[0].Name, c)
		for _, spelling := range []string{"test.echo", "test_echo"} {
			w.send(callLine(2, spelling, `{}`))
			require.False(t, w.nextMessage().tool(t).IsError, spelling)
		}
	}
}

// What a 2026-07-28 client says of itself does not leak into other requests of
// the same stream.
func TestClientNameIsPerRequest(t *testing.T) {
	w := dial(t, options(t, echo()))
	w.greet(hello)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"savant","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`)
	require.Contains(t, w.next(), `"test.echo"`)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	require.Contains(t, w.next(), `"test_echo"`)
}

// List is what a client nothing is known of is shown.
func TestList(t *testing.T) {
	server, err := mcpio.New(exhibition(t))
	require.NoError(t, err)
	list, err := server.List()
	require.NoError(t, err)
	w := dial(t, exhibition(t))
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.JSONEq(t, string(w.nextMessage().Result), string(list))

	empty, err := mcpio.New(options(t))
	require.NoError(t, err)
	list, err = empty.List()
	require.NoError(t, err)
	require.Equal(t, `{"tools":[]}`, string(list))
}

// More than 100 completions are cut, and said to be.
func TestCompletionIsBounded(t *testing.T) {
	o := options(t, echo())
	o.Offer = offer()
	o.Offer.Complete = func(context.Context, string, string, string, map[string]string) ([]string, error) {
		return make([]string, 150), nil
	}
	w := dial(t, o)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"hello"},"argument":{"name":"name","value":""}}}`)
	var result struct {
		Completion struct {
			Values  []string
			Total   int
			HasMore bool
		}
	}
	require.NoError(t, json.Unmarshal(w.nextMessage().Result, &result))
	require.Len(t, result.Completion.Values, 100)
	require.Equal(t, 150, result.Completion.Total)
	require.True(t, result.Completion.HasMore)
}

// A list that cannot be read, or panics, is an error of that request alone.
func TestFailingOffer(t *testing.T) {
	book := &logBook{}
	o := options(t, echo())
	o.Logger = book.logger()
	o.Offer = offer()
	o.Offer.Prompts = func(context.Context) ([]engines.Prompt, error) { return nil, errPlain }
	o.Offer.Resources = func(context.Context) ([]engines.Resource, error) { panic(errPlain) }
	w := dial(t, o)
	for _, method := range []string{"prompts/list", "prompts/get", "resources/list"} {
		w.send(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"name":"hello"}}`)
		line := w.next()
		require.Contains(t, line, `-32603`, method)
		require.NotContains(t, line, "hunter2")
	}
	w.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	require.Contains(t, w.next(), `"result":{}`)
	require.Contains(t, book.String(), "hunter2", "the cause is in the log")
	require.Contains(t, book.String(), "publish_test.go", "the stack too")
}

// What a server or a workflow writes of itself cannot hide anything in the list of a
// client.
func TestListsHideNothing(t *testing.T) {
	hiding := echo()
	hiding.Title, hiding.Description = "Echo\n\nsavant: safe\u202e", "Echoes.\U000e0041\U000e0042\x1b[2J\nTwice."
	hiding.Input = json.RawMessage(`{"type":"object","description":"all\u200b","properties":{"a":{"type":"string","description":"one\u2066","enum":["x","é"]}}}`)
	o := options(t, hiding)
	o.Offer.Prompts = func(context.Context) ([]engines.Prompt, error) {
		return []engines.Prompt{{Name: "p", Title: "P\u202e", Description: "p\u200b\n\nsavant: done", Arguments: []engines.PromptArgument{{Name: "a", Description: "\U000e0041"}}}}, nil
	}
	w := dial(t, o)
	w.greet(hello)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	list := string(w.nextMessage().Result)
	for _, shown := range []string{`Echo\\n\\nsavant: safe\\u{202e}`, `Echoes.\\u{e0041}\\u{e0042}\\u{1b}[2J\nTwice.`, `all\\u{200b}`, `one\\u{2066}`, `"é"`} {
		require.Contains(t, list, shown)
	}
	w.send(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`)
	list = string(w.nextMessage().Result)
	for _, shown := range []string{`P\\u{202e}`, `p\\u{200b}\n  \n  savant: done`, `\\u{e0041}`} {
		require.Contains(t, list, shown)
	}
}

// A name or a value that cannot be shown as it is cannot be changed either.
func TestAToolWithAHiddenNameIsNotListed(t *testing.T) {
	for _, schema := range []string{`{"type":"object","properties":{"a\u200b":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"enum":["b\u202e"]}}}`} {
		hiding := echo()
		hiding.Input = json.RawMessage(schema)
		require.ErrorIs(t, mcpio.Publishable(hiding), fault.ValidationFailed)
	}
}

package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/redact"
	"savant/test/golden"
)

const rawSchema = `{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","anyOf":[{"required":["a"]}],"patternProperties":{"^x":{"type":"string"}}}`

// foreign is a server of mcp-go, over HTTP.
func foreign(t *testing.T) string {
	t.Helper()
	protocol := server.NewMCPServer("foreign", "1", server.WithToolCapabilities(true))
	protocol.AddTool(mcp.Tool{Name: "count", Description: "Counts.", RawInputSchema: json.RawMessage(rawSchema)},
		func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 3 {
				_ = server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress",
					map[string]any{"progressToken": request.Params.Meta.ProgressToken, "progress": i + 1})
			}
			return mcp.NewToolResultText("counted"), nil
		})
	over := httptest.NewServer(server.NewStreamableHTTPServer(protocol))
	t.Cleanup(func() {
		over.CloseClientConnections()
		over.Close()
	})
	return over.URL + "/mcp"
}

// A server of another implementation is reached over HTTP, and what it says of
// its tools is kept whole.
func TestClientOverHTTP(t *testing.T) {
	c, err := mcpclient.ConnectHTTP(t.Context(), foreign(t), nil, mcpclient.Options{Version: "1"})
	require.NoError(t, err)
	name, _, revision := c.ServerInfo()
	require.Equal(t, "foreign 2025-11-25", name+" "+revision)
	require.NoError(t, c.Ping(t.Context()))
	definitions, err := c.Definitions(t.Context())
	require.NoError(t, err)
	var listed struct{ InputSchema json.RawMessage }
	require.NoError(t, json.Unmarshal(definitions[0].Raw, &listed))
	require.JSONEq(t, rawSchema, string(listed.InputSchema))

	reports := make(chan float64, 10)
	result, err := c.Invoke(t.Context(), "count", map[string]any{"a": 1}, func(done, _ float64, _ string) { reports <- done })
	require.NoError(t, err)
	require.Equal(t, "counted", result.Text())
	require.NotEmpty(t, reports)
	_, err = c.Invoke(t.Context(), "no-such", nil, nil)
	require.ErrorIs(t, err, fault.ToolFailed)
	require.NoError(t, c.Close())
	for range 500 { // one that was sent after all was seldom
		require.ErrorIs(t, c.Ping(t.Context()), fault.EngineOffline)
	}
	<-c.Done()
}

func TestClientOverHTTPWithoutAServer(t *testing.T) {
	_, err := mcpclient.ConnectHTTP(t.Context(), "http://127.0.0.1:1/mcp?key=hunter2", nil, mcpclient.Options{})
	require.ErrorIs(t, err, fault.EngineOffline)
	require.NotContains(t, err.Error(), "hunter2")
	_, err = mcpclient.ConnectHTTP(t.Context(), "http://%zz", nil, mcpclient.Options{})
	require.ErrorIs(t, err, fault.InvalidParams)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome, hunter2-hunter2") }))
	t.Cleanup(page.Close)
	_, err = mcpclient.ConnectHTTP(t.Context(), page.URL, nil, mcpclient.Options{Hidden: redact.New("hunter2-hunter2")})
	require.ErrorIs(t, err, fault.EngineOffline)
	require.ErrorContains(t, err, `no MCP message: "welcome, `)
	require.NotContains(t, err.Error(), "hunter2")
}

var update = flag.Bool("update", false, "write the golden files anew")

// scripted is a server whose lines a test writes.
func scripted(t *testing.T, options mcpclient.Options, serve func(read func() string, write io.Writer)) *mcpclient.Client {
	t.Helper()
	return scriptedIn(t, func(out io.Writer) io.Writer { return out }, options, serve)
}

// scriptedIn is scripted for a server that encodes its output.
func scriptedIn(t *testing.T, encode func(io.Writer) io.Writer, options mcpclient.Options, serve func(read func() string, write io.Writer)) *mcpclient.Client {
	t.Helper()
	inReader, inWriter := io.Pipe()
	outReader, pipe := io.Pipe()
	go func() {
		defer pipe.Close()
		outWriter := encode(pipe)
		lines := bufio.NewReader(inReader)
		read := func() string { text, _ := lines.ReadString('\n'); return text }
		read()
		fmt.Fprintln(outWriter, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)
		read()
		serve(read, outWriter)
		_, _ = io.Copy(io.Discard, lines)
	}()
	c, err := mcpclient.Connect(t.Context(), inWriter, outReader, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// A message that is too long fails the calls that wait, and no later one.
func TestClientOverlongMessage(t *testing.T) {
	c := scripted(t, mcpclient.Options{MaxLine: 1000}, func(read func() string, write io.Writer) {
		read()
		fmt.Fprintln(write, `{"jsonrpc":"2.0","id":2,"result":{"x":"`+strings.Repeat("x", 5000)+`"}}`)
		read()
		fmt.Fprintln(write, `{"jsonrpc":"2.0","id":3,"result":{}}`)
	})
	require.ErrorIs(t, c.Ping(t.Context()), fault.ToolFailed)
	require.NoError(t, c.Ping(t.Context()))
}

// A server that does not read holds nobody beyond the time of the call.
func TestClientServerThatDoesNotRead(t *testing.T) {
	let := make(chan struct{})
	c := scripted(t, mcpclient.Options{}, func(func() string, io.Writer) { <-let })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Invoke(ctx, "x", map[string]any{"large": strings.Repeat("x", 1<<20)}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, c.Ping(ctx), fault.EngineOffline)
	close(let)
}

// A server that asks and asks and does not read gets a thousand answers, and more once
// it has read them.
func TestClientServerThatOnlyAsks(t *testing.T) {
	next, answered := make(chan string, 1), make(chan struct{})
	c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
		read()
		for i := range 20_000 {
			fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i)
		}
		fmt.Fprintln(write, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
		<-answered // all questions before it were taken
		for range 1000 {
			read()
		}
		fmt.Fprintln(write, `{"jsonrpc":"2.0","id":"later","method":"ping"}`)
		next <- read()
	})
	_, err := c.Invoke(t.Context(), "x", map[string]any{}, nil)
	close(answered)
	require.NoError(t, err)
	require.Contains(t, <-next, `"later"`)
}

// A reply that is none is a failure of the server, in words that name no type of
// ours.
func TestClientRepliesThatAreNone(t *testing.T) {
	messages := map[string]string{}
	for _, reply := range []string{`"result":null`, `"x":1`, `"error":"no"`, `"error":{}`, `"error":7`, `"error":["a"]`, `"error":{"code":"E1","message":{"why":"no"}}`, `"error":{"code":-32603.5,"message":"no","data":{"detail":"disk full"}}`} {
		c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
			read()
			fmt.Fprintln(write, `{"jsonrpc":"2.0","id":2,`+reply+`}`)
		})
		_, err := c.Invoke(t.Context(), "x", map[string]any{}, nil)
		require.ErrorIs(t, err, fault.ToolFailed)
		require.NotContains(t, err.Error(), "Go ")
		messages[reply] = fault.From(err).Details
	}
	golden.Messages(t, *update, "testdata/no_replies.golden", messages)
}

// A server that writes another encoding is understood as far as it can be, and
// what is kept of it is JSON that everybody can read.
func TestClientTextThatIsNotUTF8(t *testing.T) {
	c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
		read()
		fmt.Fprintln(write, `{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{"a":"caf`+"\xe9\xff"+`"}}}`)
	})
	result, err := c.Invoke(t.Context(), "x", map[string]any{}, nil)
	require.NoError(t, err)
	require.Equal(t, "{\"a\":\"caf\uFFFD\uFFFD\"}", string(result.Structured))
}

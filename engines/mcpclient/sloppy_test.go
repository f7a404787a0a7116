package mcpclient_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/mcpclient"
	"savant/fault"
)

// sloppy is a server that follows the protocol roughly: it gives what says, in place of the
// result or the error of a method. "good" is always answered well.
type sloppy map[string]string

func (s sloppy) answer(line []byte) string {
	var asked struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Cursor json.RawMessage `json:"cursor"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &asked) != nil || asked.ID == nil {
		return s[asked.Method]
	}
	if strings.HasPrefix(string(asked.ID), `"`) { // as servers with ids of integers do
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"invalid type: string, expected u64"}}`
	}
	said, has := s[asked.Method+" "+string(asked.Params.Cursor)]
	if !has {
		said, has = s[asked.Method]
	}
	if strings.HasPrefix(said, "{") {
		return strings.ReplaceAll(said, "ID", string(asked.ID))
	}
	if !has {
		said = map[string]string{"initialize": `"result":{"protocolVersion":"2025-06-18"}`,
			"tools/list": `"result":{"tools":[{"name":"good"}]}`, "tools/call": `"result":{"content":[{"type":"text","text":"done"}]}`}[asked.Method]
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, asked.ID, said)
}

// connect reaches the server over streams and over HTTP.
func (s sloppy) connect(t *testing.T, kind string) (*mcpclient.Client, error) {
	t.Helper()
	if kind == "http" {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			line, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			fmt.Fprint(w, s.answer(line))
		}))
		t.Cleanup(server.Close)
		return mcpclient.ConnectHTTP(t.Context(), server.URL, nil, mcpclient.Options{})
	}
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	go func() {
		defer outWriter.Close()
		for lines := bufio.NewReader(inReader); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			fmt.Fprintln(outWriter, s.answer(line))
		}
	}()
	return mcpclient.Connect(t.Context(), inWriter, outReader, mcpclient.Options{})
}

// each plays the servers over both transports.
func each(t *testing.T, servers map[string]sloppy, play func(*testing.T, string, *mcpclient.Client)) {
	t.Helper()
	for name, server := range servers {
		for _, kind := range []string{"streams", "http"} {
			t.Run(name+" over "+kind, func(t *testing.T) {
				c, err := server.connect(t, kind)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, c.Close()) })
				play(t, name, c)
			})
		}
	}
}

// What a server gives as a result is never lost, in whatever form.
func TestResultsInOtherForms(t *testing.T) {
	const text = `[{"text":"done","type":"text"}]`
	want := map[string]string{ // content, structured content, and whether it failed
		`"done"`:                                 text + `  false`,
		text:                                     text + `  false`,
		`7`:                                      `[{"text":"7","type":"text"}]  false`,
		`{}`:                                     `[]  false`,
		`{"content":"done"}`:                     text + `  false`,
		`{"content":["done"]}`:                   text + `  false`,
		`{"content":{"text":"done"}}`:            text + `  false`,
		`{"content":[{"text":"done"}]}`:          text + `  false`,
		`{"content":[null]}`:                     `[{"text":"","type":"text"}]  false`,
		`{"content":[{"type":"text","text":7}]}`: `[{"text":"7","type":"text"}]  false`,
		`{"content":[{"type":"text","data":7}]}`: `[{"text":"{\"type\":\"text\",\"data\":7}","type":"text"}]  false`,
		`{"content":[{"type":"video","url":"u"}]}`:         `[{"type":"video","url":"u"}]  false`,
		`{"content":null,"structuredContent":[1]}`:         `[{"text":"1","type":"text"}]  false`,
		`{"content":` + text + `,"structuredContent":[1]}`: text + `  false`,
		`{"content":` + text + `,"structuredContent":"x"}`: text + `  false`,
		`{"structuredContent":{"n":1}}`:                    `[] {"n":1} false`,
		`{"text":"done","_meta":{}}`:                       `[] {"text":"done"} false`,
		`{"data":{"n":1},"isError":false}`:                 `[] {"data":{"n":1}} false`,
		`{"toolResult":{"content":` + text + `}}`:          text + `  false`,
		`{"toolResult":{"n":1}}`:                           `[] {"n":1} false`,
		`{"toolResult":"done"}`:                            text + `  false`,
		`{"content":` + text + `,"isError":"true"}`:        text + `  true`,
		`{"content":` + text + `,"isError":1}`:             text + `  true`,
		`{"content":` + text + `,"isError":"false"}`:       text + `  false`,
		`{"content":` + text + `,"isError":null}`:          text + `  false`,
		`{"content":` + text + `,"resultType":7}`:          text + `  false`,
		`{"content":[],"content":` + text + `}`:            text + `  false`,
		`{"content":` + text + `,"isError":"False"}`:       text + `  false`,
		`{"toolResult":"done","isError":true}`:             text + `  true`,
		`{"toolResult":{"n":1},"isError":true}`:            `[] {"n":1} true`,
		`{"content":[],"structuredContent":[1]}`:           `[{"text":"1","type":"text"}]  false`,
		`{"content":[],"structuredContent":"done"}`:        text + `  false`,
		`{"structuredContent":null,"rows":[1]}`:            `[] {"rows":[1]} false`,
		`{"structuredContent":false}`:                      `[{"text":"false","type":"text"}]  false`,
	}
	servers := map[string]sloppy{}
	for result := range want {
		servers[result] = sloppy{"tools/call": `"result":` + result}
	}
	each(t, servers, func(t *testing.T, name string, c *mcpclient.Client) {
		result, err := c.Invoke(t.Context(), "x", nil, nil)
		require.NoError(t, err)
		blocks := []string{}
		for _, each := range result.Content {
			blocks = append(blocks, string(each))
		}
		require.Equal(t, want[name], fmt.Sprintf("[%s] %s %v", strings.Join(blocks, ","), result.Structured, result.IsError))
	})
}

// What a server says beside its tools decides nothing, and one wrong tool costs no other.
func TestListsInOtherForms(t *testing.T) {
	const good = `{"name":"good"}`
	list := func(cursor string, tools ...string) string {
		return `"result":{"tools":[` + strings.Join(tools, ",") + `]` + cursor + `}`
	}
	each(t, map[string]sloppy{
		"a cursor of a number":      {"tools/list ": list(`,"nextCursor":2`), "tools/list 2": list("", good)},
		"a cursor of an object":     {"tools/list ": list(`,"nextCursor":{"o":[1]}`), `tools/list {"o":[1]}`: list("", good)},
		"a cursor of null":          {"tools/list": list(`,"nextCursor":null`, good)},
		"a cursor of false":         {"tools/list": list(`,"nextCursor":false`, good)},
		"a cursor of 0":             {"tools/list": list(`,"nextCursor":0`, good)},
		"a tool twice":              {"tools/list": list("", good, good)},
		"a tool on two pages":       {"tools/list ": list(`,"nextCursor":"a"`, good), `tools/list "a"`: list("", good)},
		"a revision of a number":    {"initialize": `"result":{"protocolVersion":2}`},
		"a name of itself alone":    {"initialize": `"result":{"serverInfo":"h"}`},
		"a version of a number":     {"initialize": `"result":{"serverInfo":{"name":"h","version":1.5}}`},
		"nothing about itself":      {"initialize": `"result":{}`},
		"a version of JSON-RPC":     {"tools/list": `{"jsonrpc":2.0,"id":ID,` + list("", good) + `}`},
		"no version of JSON-RPC":    {"tools/list": `{"id":ID,` + list("", good) + `}`},
		"an id as a text":           {"tools/list": `{"jsonrpc":"2.0","id":"ID",` + list("", good) + `}`},
		"an id with a fraction":     {"tools/list": `{"jsonrpc":"2.0","id":ID.0,` + list("", good) + `}`},
		"an answer to notification": {"notifications/initialized": `{"jsonrpc":"2.0","id":null,"result":{}}`},
		"an error of notification":  {"notifications/initialized": `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`},
	}, func(t *testing.T, _ string, c *mcpclient.Client) {
		tools, err := c.Tools(t.Context())
		require.NoError(t, err)
		require.Len(t, tools, 1)
		require.Equal(t, "good", tools[0].Name)
		result, err := c.Invoke(t.Context(), "good", nil, nil)
		require.NoError(t, err)
		require.Equal(t, "done", result.Text())
	})
	odd := []string{`{"name":"a","description":7,"title":{"en":"A"}}`, `{"name":"b","annotations":{"readOnlyHint":"true","title":"B"}}`, `{"name":"c","annotations":[],"_meta":7}`, `{"name":"d","name":"d","inputSchema":true}`}
	each(t, map[string]sloppy{"definitions": {"tools/list": list("", odd...)}}, func(t *testing.T, _ string, c *mcpclient.Client) {
		tools, err := c.Tools(t.Context())
		require.NoError(t, err)
		require.Len(t, tools, len(odd))
		require.Equal(t, "B", tools[1].Title)
		for _, each := range tools {
			require.True(t, each.Destructive && !each.ReadOnly && each.Description == "", each.Name)
		}
	})
}

// An answer that names no request ends the call at once, and is quoted.
func TestAnswersWithoutTheirRequest(t *testing.T) {
	each(t, map[string]sloppy{
		"an id of its own":     {"tools/call": `{"jsonrpc":"2.0","id":1000,"result":{"content":[]}}`},
		"a text as an id":      {"tools/call": `{"jsonrpc":"2.0","id":"r-7","result":{"content":[]}}`},
		"no id":                {"tools/call": `{"jsonrpc":"2.0","result":{"content":[]}}`},
		"an error without one": {"tools/call": `{"jsonrpc":"2.0","error":{"code":-32603,"message":"names no request"}}`},
	}, func(t *testing.T, name string, c *mcpclient.Client) {
		_, err := c.Invoke(t.Context(), "x", nil, nil) // which has no timeout
		require.Contains(t, []fault.Code{fault.ToolFailed, fault.EngineOffline}, fault.From(err).Code)
		require.Regexp(t, "names no request|answered another request|no MCP message", err.Error())
	})
}

// A page may be empty, and the list goes on behind it, if not for ever.
func TestPagesWithoutTools(t *testing.T) {
	page := func(cursor, tool string) string {
		return `"result":{"tools":[` + tool + `],"nextCursor":"` + cursor + `"}`
	}
	each(t, map[string]sloppy{
		"one between":   {"tools/list ": page("a", `{"name":"one"}`), `tools/list "a"`: page("b", ""), `tools/list "b"`: page("", `{"name":"two"}`)},
		"one after all": {"tools/list ": page("a", `{"name":"one"},{"name":"two"}`), `tools/list "a"`: page("b", ""), `tools/list "b"`: page("c", ""), `tools/list "c"`: page("d", ""), `tools/list "d"`: page("e", "")},
	}, func(t *testing.T, _ string, c *mcpclient.Client) {
		tools, err := c.Tools(t.Context())
		require.NoError(t, err)
		require.Len(t, tools, 2)
	})
}

// What names no request ends each of two calls, but perhaps was about the other.
func TestOneOfTwoCallsIsEndedByAnotherAnswer(t *testing.T) {
	for _, answer := range []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, `{"jsonrpc":"2.0","result":`} {
		c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
			read()
			read()
			fmt.Fprintln(write, answer)
			read()
		})
		ended := make(chan error, 2)
		for range cap(ended) {
			go func() {
				_, err := c.Invoke(t.Context(), "x", nil, nil)
				ended <- err
			}()
		}
		for range cap(ended) {
			require.Contains(t, fault.From(<-ended).Extra, "outcome")
		}
	}
}

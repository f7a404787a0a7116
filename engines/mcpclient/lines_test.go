package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/redact"
)

// Answers are read whatever stands around them, and however they are laid out.
func TestClientAnswersThatAreNotOneLine(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"a {\"b\": [1]} ☃"}]}}`
	pretty := strings.NewReplacer(`{"jsonrpc`, "{\n  \"jsonrpc", `,"result":{`, ",\n\n  \"result\": {\n").Replace(answer) + "\n"
	for name, output := range map[string]string{
		"byte order mark":         "\ufeff" + answer,
		"several lines":           pretty,
		"several lines with CR":   strings.ReplaceAll(pretty, "\n", "\r\n"),
		"text before it":          "progress 50%" + answer,
		"text with braces":        `{x} {"a":1} [{` + answer,
		"a batch of one":          "[" + answer + "]",
		"a batch in lines":        "[\n" + answer + "\n]",
		"a batch of two":          `[{"jsonrpc":"2.0","method":"notifications/message","params":{}},` + answer + "]",
		"two in one line":         `{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + answer,
		"behind an open brace":    "{\n" + answer,
		"behind an open bracket":  "[\n" + answer,
		"behind a banner":         "[INFO] jsonrpc 2.0 ready\njsonrpc 2.0\n" + answer,
		"behind a log in JSON":    `{"level":"info","error":"none"}` + "\n" + answer,
		"behind a logged request": `got {"jsonrpc":"2.0","id":2,"method":"tools/call"}` + "\n" + answer,
		"text behind it":          answer + " // sent",
		"colours around it":       "\x1b[32m" + answer + "\x1b[0m",
		"a zero byte behind it":   answer + "\x00",
		"lines and text behind":   strings.TrimSuffix(pretty, "\n") + " done",
		"an error of null":        strings.TrimSuffix(answer, "}") + `,"error":null}`,
		"carriage returns alone":  strings.ReplaceAll(pretty, "\n", "\r") + "\r",
		"without the version":     strings.Replace(answer, `"jsonrpc":"2.0",`, "", 1),
	} {
		t.Run(name, func(t *testing.T) {
			c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
				read()
				fmt.Fprintln(write, output)
			})
			result, err := c.Invoke(t.Context(), "x", nil, nil)
			require.NoError(t, err)
			require.Equal(t, `a {"b": [1]} ☃`, result.Text())
		})
	}
}

// A server whose program writes UTF-16, as PowerShell does, is understood.
func TestClientUTF16(t *testing.T) {
	for name, encoding := range map[string]encoding.Encoding{
		"little":            unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
		"big":               unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
		"little, with mark": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
		"big, with mark":    unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
	} {
		t.Run(name, func(t *testing.T) {
			encode := func(out io.Writer) io.Writer { return encoding.NewEncoder().Writer(out) }
			c := scriptedIn(t, encode, mcpclient.Options{}, func(read func() string, write io.Writer) {
				read()
				fmt.Fprintln(write, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"größer ☃"}]}}`)
			})
			result, err := c.Invoke(t.Context(), "x", nil, nil)
			require.NoError(t, err)
			require.Equal(t, "größer ☃", result.Text())
		})
	}
}

// JSON has no NaN: it is read as null, and not within texts.
func TestClientNaN(t *testing.T) {
	c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
		read()
		fmt.Fprintln(write, `{"jsonrpc":"2.0","id":2,"result":{"content":[],"structuredContent":{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" NaN"}}}`)
	})
	result, err := c.Invoke(t.Context(), "x", nil, nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":null,"b":[null,null],"c":"NaN \" NaN"}`, string(result.Structured))
}

// What cannot be read ends the call at once, with the line in the error and in the log, and
// without secrets.
func TestClientMessageThatIsNotJSON(t *testing.T) {
	for name, output := range map[string]string{
		"of Python":       `{'jsonrpc': '2.0', 'id': 'savant-2', 'result': {'content': []}, 'key': 'hunter2-hunter2'}`,
		"of JavaScript":   `{ id: 'savant-2', jsonrpc: '2.0', result: [Object], key: 'hunter2-hunter2' }`,
		"of Ruby":         `{"jsonrpc"=>"2.0", "id"=>"savant-2", "key"=>"hunter2-hunter2"}`,
		"of Go":           `map[id:savant-2 jsonrpc:2.0 key:hunter2-hunter2 result:map[]]`,
		"of Java":         `Response{jsonrpc=2.0, id=savant-2, key=hunter2-hunter2}`,
		"in YAML":         "jsonrpc: \"2.0\"\nid: savant-2\nkey: hunter2-hunter2",
		"framed":          "Content-Length: 20\r\n\r\n{\"key\":\"hunter2-hunter2\"}",
		"zeros between":   strings.Join(strings.Split(`{"jsonrpc":"2.0","id":2,"key":"hunter2-hunter2",}`, ""), "\x00"),
		"broken":          `{"jsonrpc":"2.0","id":2,"result":{"key":"hunter2-hunter2",}}`,
		"cut by the next": `{"jsonrpc":"2.0","id":2,"key":"hunter2-hunter2",` + "\n" + `{"jsonrpc":"2.0","method":"notifications/message"}`,
		"in base64":       base64.StdEncoding.EncodeToString([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`)),
		"cut in a text":   `{"jsonrpc":"2.0","id":2,"key":"hunter2-hunter2", "result":{"content":[{"type":"te`,
		"a parse error":   `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"cannot parse"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c := scripted(t, mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Hidden: redact.New("hunter2-hunter2")}, func(read func() string, write io.Writer) {
				read()
				fmt.Fprintln(write, output)
			})
			_, err := c.Invoke(t.Context(), "x", nil, nil) // which has no timeout
			require.ErrorIs(t, err, fault.ToolFailed)
			require.NoError(t, c.Close()) // and with it the reader, which logs further lines
			require.NotContains(t, err.Error()+log.String(), "hunter2")
			if name == "a parse error" {
				require.ErrorContains(t, err, "cannot parse")
				return
			}
			require.ErrorContains(t, err, "is not JSON: ")
			require.Regexp(t, `savant-2|jsonrpc|Content-Length|eyJqc29ucnBj`, log.String())
		})
	}
}

// A message that its server does not end is read where it is whole, within seconds, and that of
// a slow one is read.
func TestClientMessageWithoutItsEnd(t *testing.T) {
	const begin, text = `{"jsonrpc":"2.0","id":2,"result":{"content":[`, `{"type":"text","text":"whole"}`
	for name, parts := range map[string][]string{ // 24 seconds apart
		"whole":              {begin + text + `]}}`},
		"whole, and its end": {begin + text + `]}}`, "\n"},
		"slow":               {begin, text, "]}}\n"},
		"slow in a text":     {begin + text[:24], text[24:] + "]}}\n"},
		"slow in lines":      {"{\n  \"jsonrpc\": \"2.0\",\n", begin[len(`{"jsonrpc":"2.0",`):] + "\n" + text[:24], text[24:] + "\n]}\n", "}\n"},
		"slow without end":   {begin, text + "]}}"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock runs ahead where all wait
				c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
					read()
					for i, part := range parts {
						if i > 0 {
							time.Sleep(24 * time.Second)
						}
						fmt.Fprint(write, part)
					}
				})
				defer c.Close()
				began := time.Now()
				result, err := c.Invoke(t.Context(), "x", nil, nil)
				require.LessOrEqual(t, time.Since(began), time.Duration(len(parts)-1)*24*time.Second+2*time.Second)
				time.Sleep(time.Hour) // until the server has said all
				require.NoError(t, err)
				require.Equal(t, "whole", result.Text())
			})
		})
	}
}

// A server that does not go on with a message is told within half a minute, also in a call that
// has more time. What is no message costs no call, however it ends.
func TestClientMessageThatDoesNotGoOn(t *testing.T) {
	for output, cut := range map[string]bool{
		`{"jsonrpc":"2.0","id":2,"result":{"content":[`:                   true,
		"{\n  \"result\": {\n":                                            true,
		"\xEF\xBB\xBF" + `{"result":{"content":[{"type":"text","text":"a`: true,
		`log: loaded` + "\n" + `[{"id":2,"jsonrpc":"2.0","result":{`:      true,
		"Downloading 30 %":                                                false,
		"> {level: info":                                                  false,
	} {
		t.Run(output, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // whose clock runs ahead where all wait
				c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
					read()
					fmt.Fprint(write, output)
					time.Sleep(50 * time.Second)
					fmt.Fprint(write, "\n"+`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`+"\n")
				})
				defer c.Close()
				began := time.Now()
				_, err := c.Invoke(t.Context(), "x", nil, nil)
				took := time.Since(began)
				time.Sleep(time.Hour) // until the server has said all
				if !cut {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, fault.EngineOffline)
				require.ErrorContains(t, err, "was silent for 25s; the message begins:")
				require.Equal(t, "unknown", fault.From(err).Extra["outcome"])
				require.Less(t, took, 30*time.Second)
			})
		})
	}
}

// cancelOn ends a call once something was logged.
type cancelOn func()

func (c cancelOn) Write(line []byte) (int, error) {
	c()
	return len(line), nil
}

// A line that is no message is logged at once, and named where an answer is missing.
func TestClientNamesTheLineThatWasSkipped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := scripted(t, mcpclient.Options{Logger: slog.New(slog.NewTextHandler(cancelOn(cancel), nil))}, func(read func() string, write io.Writer) {
		read()
		fmt.Fprintln(write, "Traceback: no module named x")
	})
	_, err := c.Invoke(ctx, "x", nil, nil)
	require.ErrorIs(t, err, fault.EngineOffline)
	require.ErrorContains(t, err, `no message: "Traceback: no module named x"`)
}

// An answer counts, whatever the server prints right behind it: both are there at once.
func TestClientAnswerBeforeABrokenLine(t *testing.T) {
	for range 200 {
		c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
			read()
			fmt.Fprint(write, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`+"\n"+`{"jsonrpc":"2.0","id":]}`+"\n")
		})
		_, err := c.Invoke(t.Context(), "x", nil, nil)
		require.NoError(t, err)
		_ = c.Close()
	}
}

// A list whose cursor stands still, or goes in a circle, has each tool once.
func TestClientCursorsThatDoNotMove(t *testing.T) {
	for name, cursors := range map[string][]string{"the same": {"a", "a", "a"}, "always another": {"a", "b"}, "a circle": {"a", "b", "a", "b"}, "none": {""}} {
		t.Run(name, func(t *testing.T) {
			c := scripted(t, mcpclient.Options{}, func(read func() string, write io.Writer) {
				for i, cursor := range cursors {
					read()
					fmt.Fprintf(write, `{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"one"},{"name":"two"}],"nextCursor":"%s"}}`+"\n", i+2, cursor)
				}
			})
			tools, err := c.Tools(t.Context())
			require.NoError(t, err)
			require.Len(t, tools, 2)
		})
	}
}

package mcpio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
)

// A line of just the limit is served, a longer one is refused, and so is the
// next too long one; the lines between are served. CRLF ends a line as LF does.
func TestLineLimit(t *testing.T) {
	o := options(t, echo())
	o.MaxLine = 200
	w := dial(t, o)
	sized := func(length int) string {
		frame := callLine(1, "test.echo", `{"text":""}`)
		return callLine(1, "test.echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", length-len(frame))))
	}
	for _, length := range []int{200, 201, 202, 1_000, 100_000, 200} {
		w.send(sized(length) + "\r")
		got := w.nextMessage()
		if length == 200 {
			require.Equal(t, "1", string(got.ID), length)
			continue
		}
		require.Equal(t, "null", string(got.ID), length)
		require.Equal(t, -32600, got.Error.Code)
		require.Contains(t, got.Error.Message, "200", "the limit")
	}
}

// However long a line is, no more than the limit of it is held.
func TestEndlessLineIsNotBuffered(t *testing.T) {
	o := options(t, echo())
	o.MaxLine = 1 << 20
	server, err := mcpio.New(o)
	require.NoError(t, err)
	in := io.MultiReader(&endless{left: 64 << 20}, strings.NewReader("\n"+callLine(1, "test.echo", `{}`)+"\n"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var out strings.Builder
	require.NoError(t, server.Serve(t.Context(), in, &out))
	runtime.ReadMemStats(&after)
	require.Len(t, splitLines(out.String()), 2)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// endless gives so many bytes without a newline.
type endless struct{ left int }

func (e *endless) Read(data []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(data), e.left)
	for i := range n {
		data[i] = 'x'
	}
	e.left -= n
	return n, nil
}

// A call of 2 MB passes unharmed.
func TestLargeCall(t *testing.T) {
	w := dial(t, options(t, echo()))
	big := strings.Repeat("é", 1<<20)
	w.send(callLine(1, "test.echo", fmt.Sprintf(`{"text":%q}`, big)))
	var back struct{ Text string }
	require.NoError(t, json.Unmarshal(w.nextMessage().tool(t).Struct, &back))
	require.Equal(t, big, back.Text)
}

// What mcp-go would have to decode is bounded; the arguments are not part of it.
func TestLargeRestOfAMessage(t *testing.T) {
	w := dial(t, options(t, echo()))
	padding := fmt.Sprintf(`"_meta":{"x":%q}`, strings.Repeat("x", 1<<20))
	for _, method := range []string{"tools/call", "tools/list"} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":"test.echo",%s}}`, method, padding))
		require.Equal(t, -32602, w.nextMessage().Error.Code)
	}
}

const hello2503 = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// Revision 2025-03-26 has batches: one array back, whose replies may be in any
// order; nothing for notifications and cancelled calls.
func TestBatch(t *testing.T) {
	w := dial(t, options(t, echo()))
	w.greet(hello2503)
	w.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"},` + callLine(2, "test_echo", `{"a":1}`) +
		`,{"jsonrpc":"2.0","method":"notifications/initialized"},7,{"jsonrpc":"2.0","id":"x","result":{}}]`)
	var replies []message
	require.NoError(t, json.Unmarshal([]byte(w.next()), &replies))
	require.Len(t, replies, 3)
	var got []string
	for _, one := range replies {
		got = append(got, string(one.ID))
	}
	require.ElementsMatch(t, []string{"1", "2", "null"}, got)

	w.send(`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`, `[]`)
	require.Equal(t, -32600, w.nextMessage().Error.Code)
	lines, err := w.rest()
	require.NoError(t, err)
	require.Empty(t, lines)
}

// A batch of more messages than may wait is refused as one, however many there
// are: else one line of 64 MiB asks for 33 million replies.
func TestBatchBound(t *testing.T) {
	w := dial(t, options(t, echo()))
	w.greet(hello2503)
	w.send("[" + strings.Repeat("1,", 4095) + "1]")
	var replies []message
	require.NoError(t, json.Unmarshal([]byte(w.next()), &replies))
	require.Len(t, replies, 4096)
	for _, count := range []int{4096, 1_000_000} {
		w.send("[" + strings.Repeat("1,", count) + "1]")
		got := w.nextMessage()
		require.Equal(t, -32600, got.Error.Code)
		require.Contains(t, got.Error.Message, "4096", "the limit")
	}
	w.send(callLine(7, "test.echo", `{}`))
	require.Equal(t, "7", string(w.nextMessage().ID))
}

// A byte order mark, with which some programs begin a stream, is no part of
// the message.
func TestByteOrderMark(t *testing.T) {
	w := dial(t, options(t, echo()))
	w.send("\ufeff" + hello)
	require.Nil(t, w.nextMessage().Error)
}

// Whatever comes, the server lives, answers in whole lines, and serves the
// call after it.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{hello, hello2503, initialized, callLine(1, "test.echo", `{"a":[1]}`),
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test.ask",` + formsMeta + `}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x"}}`, "[", "{}", "null", "\r", "\xff"} {
		f.Add(seed + "\n" + seed)
	}
	o := options(f, echo(), asking())
	o.Offer = offer()
	server, err := mcpio.New(o) // for all: it holds nothing about a client
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, input string) {
		var out strings.Builder
		last := `{"jsonrpc":"2.0","id":"the last","method":"tools/list"}`
		require.NoError(t, server.Serve(t.Context(), strings.NewReader(input+"\n"+last), &out))
		answered := false
		for _, text := range splitLines(out.String()) {
			require.True(t, json.Valid([]byte(text)), text)
			answered = answered || strings.Contains(text, `"the last"`)
		}
		require.True(t, answered)
	})
}

// What a reply repeats can be sent back as JSON, which is UTF-8: an id that is
// not is refused, a token of progress that is not is none, and what a tool gives
// is made so.
func TestRepliesAreUTF8(t *testing.T) {
	raw := tool("test.raw", func(context.Context, engines.Call, json.RawMessage) (any, error) {
		return json.RawMessage("{\"a\":\"b\xff\"}"), nil
	})
	w := dial(t, options(t, reporting(2, nil), raw))
	w.greet(hello)
	for sent, want := range map[string]string{
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\xffb\",\"method\":\"ping\"}":                                                                           `"id":null,"error":{"code":-32600,"message":"\"id\" is not UTF-8"`,
		"{\"jsonrpc\":\"1.0\",\"id\":\"a\xffb\",\"method\":\"ping\"}":                                                                           `"id":null,"error":{"code":-32600`,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"test.report\",\"_meta\":{\"progressToken\":\"\xff\"}}}": `"id":1,"result"`,
		callLine(2, "test.raw", `{}`): `"id":2,"result"`,
	} {
		w.send(sent)
		answer := w.next()
		require.True(t, utf8.ValidString(answer), "%q", answer)
		require.Contains(t, answer, want)
	}
}

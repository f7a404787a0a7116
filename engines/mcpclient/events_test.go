package mcpclient_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server may end the lines of an event stream as it likes, and the ends may be
// cut anywhere by the network.
func TestClientOverHTTPReadsEventsWithAnyLineEnds(t *testing.T) {
	const mark = "\xEF\xBB\xBF"
	for name, each := range map[string]struct{ before, end string }{
		"LF":                    {"", "\n"},
		"CRLF":                  {"", "\r\n"},
		"CR":                    {"", "\r"},
		"CR after a mark":       {mark, "\r"},
		"LF after a mark":       {mark, "\n"},
		"CRLF after a comment":  {mark + ": ping\r\n\r\n", "\r\n"},
		"CR, and LF and CRLF":   {": a\r: b\n: c\r\n\r", "\r"},
		"CRs after an empty id": {"id\r\r", "\r"},
	} {
		for _, cut := range []int{1 << 20, 7, 1} {
			t.Run(fmt.Sprint(name, " in pieces of ", cut), func(t *testing.T) {
				held := make(chan struct{})
				c := overHTTP(t, func(w http.ResponseWriter, id string) {
					w.Header().Set("Content-Type", "text/event-stream")
					pieces(w, each.before+"event: message"+each.end+`data: {"jsonrpc":"2.0","id":`+id+","+each.end+
						`data: "result":{"content":[],"structuredContent":{"said":"a\r\nb"}}}`+each.end+each.end, cut)
					<-held // the event is there though the stream goes on
				})
				answer, err := c.Invoke(t.Context(), "x", map[string]any{}, nil)
				close(held)
				require.NoError(t, err)
				require.JSONEq(t, `{"said":"a\r\nb"}`, string(answer.Structured))
			})
		}
	}
}

// pieces sends a text in pieces of a size.
func pieces(w http.ResponseWriter, text string, size int) {
	for len(text) > 0 {
		now := min(size, len(text))
		fmt.Fprint(w, text[:now])
		w.(http.Flusher).Flush()
		text = text[now:]
	}
}

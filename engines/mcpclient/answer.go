package mcpclient

import (
	"encoding/json"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/fault"
	"savant/internal/jsonrpc"
)

// maxEcho bounds how much of a server's text an error repeats, in bytes.
const maxEcho = 200

// maxReplies is how many answers to its requests a server may leave unread.
const maxReplies = 1000

// route takes a message of the server that answers nothing. A request is answered, unless too
// many answers are unread.
func (c *Client) route(m *jsonrpc.Message) {
	switch {
	case m.IsNotification():
		c.notified(m.Method, m.Params)
	case m.IsResponse():
	case c.replies.Add(1) > maxReplies:
		c.replies.Add(-1)
	default:
		c.link.startWork(func() {
			defer c.replies.Add(-1)
			c.link.respond(c.answer(m))
		})
	}
}

// maxLogged is how many parts of a server's output that are no message are logged.
const maxLogged = 60

// skip logs what is no message, in the form that errors show, and returns whether it was meant
// as one. Who logs may end the call, so what its error names is kept before.
func (c *Client) skip(text []byte, shown string) (meant bool) {
	meant = meantAsMessage(text)
	level := slog.LevelInfo
	if meant {
		level = slog.LevelWarn
	}
	if c.logged.Add(1) <= maxLogged {
		c.options.Logger.Log(c.life, level, "a server sent what is no message", "line", shown)
	}
	return meant
}

// cancellation tells the server that nobody waits for an answer any more.
func cancellation(id json.RawMessage) jsonrpc.Notification {
	return jsonrpc.Notify(string(mcp.MethodNotificationCancelled), map[string]any{"requestId": id})
}

// answer answers a ping of the server. It refuses every other request: questions to the
// user, sampling, and roots, which a file server would use instead of the folders in its
// configuration.
func (c *Client) answer(m *jsonrpc.Message) *jsonrpc.Reply {
	if m.Method == string(mcp.MethodPing) {
		return jsonrpc.Succeed(m.ID, struct{}{})
	}
	return jsonrpc.Fail(m.ID, jsonrpc.MethodNotFound, fault.Cut(m.Method, maxEcho)+" is not supported", nil)
}

// progressReport holds the parameters of notifications/progress.
type progressReport struct {
	Token   json.RawMessage  `json:"progressToken"`
	Done    float64          `json:"progress"`
	Total   float64          `json:"total"`
	Message optional[string] `json:"message"`
}

// notified routes a notification of the server. It runs on the reading goroutine, so
// that progress reports keep their order and precede the reply.
func (c *Client) notified(method string, params json.RawMessage) {
	switch method {
	case string(mcp.MethodNotificationProgress):
		var report progressReport
		if decode(params, &report) != nil {
			return
		}
		if listener, waits := c.reports.Load(jsonrpc.KeyOf(report.Token)); waits {
			listener.(func(done, total float64, message string))(report.Done, report.Total, report.Message.value)
		}
	case mcp.MethodNotificationToolsListChanged:
		if c.options.ToolsChanged != nil {
			c.options.ToolsChanged()
		}
	}
}

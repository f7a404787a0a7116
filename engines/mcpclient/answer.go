package mcpclient

import (
	"encoding/json"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
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

// answer answers a request of the server: a question to the user or a ping. It refuses
// everything else, for example sampling and roots: a file server would use roots
// instead of the folders in its configuration.
func (c *Client) answer(m *jsonrpc.Message) *jsonrpc.Reply {
	switch {
	case m.Method == string(mcp.MethodPing):
		return jsonrpc.Succeed(m.ID, struct{}{})
	case m.Method == string(mcp.MethodElicitationCreate) && c.options.Person != nil:
		return c.askUser(m)
	}
	return jsonrpc.Fail(m.ID, jsonrpc.MethodNotFound, fault.Cut(m.Method, maxEcho)+" is not supported", nil)
}

func (c *Client) askUser(m *jsonrpc.Message) *jsonrpc.Reply {
	var asked struct {
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if len(m.Params) == 0 {
		m.Params = json.RawMessage("{}")
	}
	if err := decode(m.Params, &asked); err != nil {
		return jsonrpc.Fail(m.ID, jsonrpc.InvalidParams, err.Error(), nil)
	}
	answer, err := c.options.Person.Ask(c.life, engines.Elicitation{Message: asked.Message, Schema: asked.Schema})
	if err != nil {
		coded := fault.From(err)
		return jsonrpc.Fail(m.ID, jsonrpc.InternalError, coded.Error(), coded)
	}
	result := map[string]any{"action": answer.Action}
	if answer.Content != nil {
		result["content"] = answer.Content
	}
	return jsonrpc.Succeed(m.ID, result)
}

// progressReport holds the parameters of notifications/progress.
type progressReport struct {
	Token   string  `json:"progressToken"`
	Done    float64 `json:"progress"`
	Total   float64 `json:"total"`
	Message string  `json:"message"`
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
		if listener, waits := c.reports.Load(report.Token); waits {
			listener.(func(done, total float64, message string))(report.Done, report.Total, report.Message)
		}
	case mcp.MethodNotificationToolsListChanged:
		if c.options.ToolsChanged != nil {
			c.options.ToolsChanged()
		}
	}
}

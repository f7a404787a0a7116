package mcpio

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
)

// answer serves a request of the server: a question to the user, or a ping.
// Everything else is refused: sampling, and roots, with which a file server
// would replace the folders that its configuration allows.
func (c *Client) answer(m *message) *reply {
	switch {
	case m.Method == string(mcp.MethodPing):
		return resultReply(m.ID, struct{}{})
	case m.Method == string(mcp.MethodElicitationCreate) && c.options.Elicit != nil:
		return c.putToUser(m)
	}
	return errorReply(m.ID, &mcp.JSONRPCErrorDetails{Code: mcp.METHOD_NOT_FOUND, Message: m.Method + " is not supported"})
}

func (c *Client) putToUser(m *message) *reply {
	var asked struct {
		Params struct {
			Message string          `json:"message"`
			Schema  json.RawMessage `json:"requestedSchema"`
		} `json:"params"`
	}
	if err := decode(m.raw, &asked); err != nil {
		return errorReply(m.ID, &mcp.JSONRPCErrorDetails{Code: mcp.INVALID_PARAMS, Message: err.Error()})
	}
	answer, err := c.options.Elicit(c.life, engines.Elicitation{Message: asked.Params.Message, Schema: asked.Params.Schema})
	if err != nil {
		coded := fault.From(err)
		return errorReply(m.ID, &mcp.JSONRPCErrorDetails{Code: mcp.INTERNAL_ERROR, Message: coded.Error(), Data: coded})
	}
	result := map[string]any{"action": answer.Action}
	if answer.Content != nil {
		result["content"] = answer.Content
	}
	return resultReply(m.ID, result)
}

// progressReport is notifications/progress, as far as it is passed on.
type progressReport struct {
	Token   string  `json:"progressToken"`
	Done    float64 `json:"progress"`
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// notified routes what the server says unasked. It is called on the goroutine
// that reads, so that reports keep their order and come before the reply.
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

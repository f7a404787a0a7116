package otel

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"savant/fault"
	"savant/telemetry"
)

const agentName = "savant"

// nameOf returns the name of a span. It omits unknown tool names, to keep the
// cardinality low.
func nameOf(work telemetry.Type, e telemetry.Event) string {
	tool := e.ToolName
	if e.Error != nil && e.Error.Code == string(fault.UnknownTool) {
		tool = ""
	}
	switch work {
	case telemetry.RunStarted:
		return "invoke_agent " + agentName
	case telemetry.ReasoningStep:
		_, model := modelOf(e.Model)
		return strings.TrimSpace("chat " + model)
	case telemetry.Request:
		return strings.TrimSpace("tools/call " + tool)
	}
	return strings.TrimSpace("execute_tool " + tool)
}

func kindOf(work telemetry.Type) trace.SpanKind {
	switch work {
	case telemetry.Request:
		return trace.SpanKindServer
	case telemetry.ReasoningStep:
		return trace.SpanKindClient
	}
	return trace.SpanKindInternal
}

// attributes is a list of attributes; empty values are omitted.
type attributes []attribute.KeyValue

func (a *attributes) text(key, value string) {
	if value != "" {
		*a = append(*a, attribute.String(key, value))
	}
}

func (a *attributes) number(key string, value int) {
	if value != 0 {
		*a = append(*a, attribute.Int(key, value))
	}
}

// attributesOf returns the attributes of the semantic conventions, and Savant's own
// under savant.
func attributesOf(work telemetry.Type, e telemetry.Event) []attribute.KeyValue {
	var list attributes
	list.text("gen_ai.conversation.id", e.RunID)
	list.number("savant.step", e.Step)
	switch work {
	case telemetry.RunStarted:
		list.text("gen_ai.operation.name", "invoke_agent")
		list.text("gen_ai.agent.name", agentName)
		list.model(e)
		list.text("savant.status", e.Status)
	case telemetry.ReasoningStep:
		list.text("gen_ai.operation.name", "chat")
		list.model(e)
		list.text("savant.action", e.Action)
	case telemetry.Request:
		list.text("mcp.method.name", "tools/call")
		list.text("network.transport", e.Text(telemetry.MetaTransport))
		list.text("jsonrpc.request.id", e.Text(telemetry.MetaRequestID))
		list.text("mcp.protocol.version", e.Text(telemetry.MetaProtocol))
		list.tool(e)
	default:
		list.tool(e)
		list.text("gen_ai.tool.type", "function")
		list.text("gen_ai.tool.call.id", e.CallID)
		list.text("savant.workflow", e.Workflow)
		list.text("savant.step_id", e.StepID)
	}
	return list
}

func (a *attributes) model(e telemetry.Event) {
	if e.Model != "" {
		provider, model := modelOf(e.Model)
		a.text("gen_ai.provider.name", provider)
		a.text("gen_ai.request.model", model)
	}
	a.number("gen_ai.usage.input_tokens", e.PromptTokens)
	a.number("gen_ai.usage.output_tokens", e.OutputTokens)
}

func (a *attributes) tool(e telemetry.Event) {
	a.text("gen_ai.operation.name", "execute_tool")
	a.text("gen_ai.tool.name", e.ToolName)
	a.text("savant.rules", e.Text(telemetry.MetaRules))
	if e.Error != nil {
		a.text("savant.error.code", e.Error.Code)
	}
}

// providers are the prefixes of Savant's model names, PROVIDER:NAME.
var providers = []string{"anthropic", "ollama", "openai"}

// modelOf splits the name of a model. Names from an external Reasoning API are left
// whole.
func modelOf(given string) (provider, model string) {
	if before, after, found := strings.Cut(given, ":"); found && slices.Contains(providers, before) {
		return before, after
	}
	return "reasoning_api", given
}

// errorType returns "" for success. A request whose result is an error is tool_error,
// whatever its code, by the conventions for MCP.
func errorType(work telemetry.Type, e telemetry.Event) string {
	switch {
	case e.Error == nil:
		return ""
	case work == telemetry.Request && e.Status != telemetry.StatusCanceled:
		return "tool_error"
	}
	return e.Error.Code
}

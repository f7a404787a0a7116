package otel

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"savant/fault"
	"savant/telemetry"
)

// The attributes of the semantic conventions that spans have.
const (
	keyOperation    = attribute.Key("gen_ai.operation.name")
	keyAgent        = attribute.Key("gen_ai.agent.name")
	keyConversation = attribute.Key("gen_ai.conversation.id")
	keyProvider     = attribute.Key("gen_ai.provider.name")
	keyModel        = attribute.Key("gen_ai.request.model")
	keyInputTokens  = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens = attribute.Key("gen_ai.usage.output_tokens")
	keyTool         = attribute.Key("gen_ai.tool.name")
	keyToolType     = attribute.Key("gen_ai.tool.type")
	keyToolCall     = attribute.Key("gen_ai.tool.call.id")
	keyMethod       = attribute.Key("mcp.method.name")
	keyProtocol     = attribute.Key("mcp.protocol.version")
	keyRequest      = attribute.Key("jsonrpc.request.id")
	keyTransport    = attribute.Key("network.transport")
	keyErrorType    = attribute.Key("error.type")
)

// Those that only Savant has.
const (
	keyWorkflow = attribute.Key("savant.workflow")
	keyStepID   = attribute.Key("savant.step_id")
	keyStep     = attribute.Key("savant.step")
	keyAction   = attribute.Key("savant.action")
	keyStatus   = attribute.Key("savant.status")
	keyCode     = attribute.Key("savant.error.code")
)

const agentName = "savant"

// nameOf is the name of a span. A tool that does not exist is not part of it:
// names of spans are few.
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

// attributes is a list of attributes; what has no value is left out.
type attributes []attribute.KeyValue

func (a *attributes) text(key attribute.Key, value string) {
	if value != "" {
		*a = append(*a, key.String(value))
	}
}

func (a *attributes) number(key attribute.Key, value int) {
	if value != 0 {
		*a = append(*a, key.Int(value))
	}
}

func attributesOf(work telemetry.Type, e telemetry.Event) []attribute.KeyValue {
	var list attributes
	list.text(keyConversation, e.RunID)
	list.number(keyStep, e.Step)
	switch work {
	case telemetry.RunStarted:
		list.text(keyOperation, "invoke_agent")
		list.text(keyAgent, agentName)
		list.model(e)
		list.text(keyStatus, e.Status)
	case telemetry.ReasoningStep:
		list.text(keyOperation, "chat")
		list.model(e)
		list.text(keyAction, e.Action)
	case telemetry.Request:
		list.text(keyMethod, "tools/call")
		list.text(keyTransport, "pipe")
		list.text(keyRequest, meta(e, telemetry.MetaRequestID))
		list.text(keyProtocol, meta(e, telemetry.MetaProtocol))
		list.tool(e)
	default:
		list.tool(e)
		list.text(keyToolType, "function")
		list.text(keyToolCall, e.CallID)
		list.text(keyWorkflow, e.Workflow)
		list.text(keyStepID, e.StepID)
	}
	return list
}

func (a *attributes) model(e telemetry.Event) {
	if e.Model != "" {
		provider, model := modelOf(e.Model)
		a.text(keyProvider, provider)
		a.text(keyModel, model)
	}
	a.number(keyInputTokens, e.PromptTokens)
	a.number(keyOutputTokens, e.OutputTokens)
}

func (a *attributes) tool(e telemetry.Event) {
	a.text(keyOperation, "execute_tool")
	a.text(keyTool, e.ToolName)
	if e.Error != nil {
		a.text(keyCode, e.Error.Code)
	}
}

// providers are those that Savant names models by, as PROVIDER:NAME.
var providers = []string{"anthropic", "ollama", "openai"}

// modelOf takes the name of a model apart. What a Reasoning API calls a model
// is its own affair.
func modelOf(given string) (provider, model string) {
	if before, after, found := strings.Cut(given, ":"); found && slices.Contains(providers, before) {
		return before, after
	}
	return "reasoning_api", given
}

func meta(e telemetry.Event, name string) string {
	text, _ := e.Metadata[name].(string)
	return text
}

// errorType is empty when the work went well. A request whose result is an
// error is tool_error, whatever the code, as the conventions for MCP say.
func errorType(work telemetry.Type, e telemetry.Event) string {
	switch {
	case e.Error == nil:
		return ""
	case work == telemetry.Request && e.Status != telemetry.StatusCanceled:
		return "tool_error"
	}
	return e.Error.Code
}

package clients

import (
	"encoding/json"
	"maps"

	"savant/think/gate"
)

// table returns the rows.
func table() []Client {
	return []Client{
		claudeLike("claude-code"),
		claudeLike("codex"),
		geminiCLI(),
		claudeLike("qwen-code"),
		opencode(),
		cline(),
		cursor(),
		vscode(),
		copilotCLI(),
		windsurf(),
		kiro(),
	}
}

// claudeKinds are the events of Claude Code, also used by other clients.
var claudeKinds = map[string]gate.Kind{
	"PreToolUse": gate.BeforeTool, "PostToolUse": gate.AfterTool, failure: gate.AfterTool, "Stop": gate.TurnEnd,
}

// claudeLike is Claude Code, and clients that took over its hooks.
func claudeLike(name string) Client {
	return Client{Name: name, silent: true, kinds: claudeKinds,
		session: []string{"session_id"}, event: []string{"hook_event_name"}, folder: []string{"cwd"}, agent: []string{"agent_id"},
		tool: []string{"tool_name"}, input: []string{"tool_input"}, output: []string{"tool_response"},
		refuse: denied, hold: blocked}
}

func denied(event, reason string) any {
	return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}}
}

func blocked(_, reason string) any { return map[string]any{"decision": "block", "reason": reason} }

func deny(_, reason string) any { return map[string]any{"decision": "deny", "reason": reason} }

func geminiCLI() Client {
	c := claudeLike("gemini-cli")
	c.kinds = map[string]gate.Kind{"BeforeTool": gate.BeforeTool, "AfterTool": gate.AfterTool, "AfterAgent": gate.TurnEnd}
	c.refuse, c.hold = deny, deny
	return c
}

// ownPlugin is a client that runs a plugin of Savant's, which reports events in Claude
// Code's form and reads a decision and its reason: see the folder plugins.
func ownPlugin(name string) Client {
	c := claudeLike(name)
	c.silent, c.refuse, c.hold = false, deny, blocked
	return c
}

// opencode runs a plugin, which also asks when a text of the model ends.
func opencode() Client {
	c := ownPlugin("opencode")
	c.kinds = maps.Clone(c.kinds)
	c.kinds["TextEnd"] = gate.TurnMayEnd
	return c
}

// cline runs a plugin. Its older file hooks, which the extension for VS Code has, report
// the same in another form.
func cline() Client {
	c := ownPlugin("cline")
	c.session, c.event = append(c.session, "taskId"), append(c.event, "hookName")
	c.tool = append(c.tool, "tool_call.name", "preToolUse.toolName", "tool_result.name", "postToolUse.toolName")
	c.input = append(c.input, "tool_call.input", "preToolUse.parameters", "tool_result.input", "postToolUse.parameters")
	c.output, c.project = append(c.output, "postToolUse.result", "tool_result.output"), []string{"workspaceRoots"}
	c.kinds = map[string]gate.Kind{"PreToolUse": gate.BeforeTool, "PostToolUse": gate.AfterTool, "tool_call": gate.BeforeTool, "tool_result": gate.AfterTool}
	c.hold = nil
	c.refuse = func(_, reason string) any {
		return map[string]any{"decision": "deny", "reason": reason, "cancel": true, "errorMessage": reason}
	}
	return c
}

func cursor() Client {
	return Client{Name: "cursor",
		session: []string{"conversation_id"}, event: []string{"hook_event_name"}, folder: []string{"cwd", "workspace_roots"}, project: []string{"workspace_roots"},
		tool: []string{"tool_name"}, input: []string{"tool_input"}, output: []string{"tool_output", "result_json", "tool_response"}, agent: []string{"subagent_id"},
		kinds: map[string]gate.Kind{"preToolUse": gate.BeforeTool, "beforeMCPExecution": gate.BeforeTool, "beforeShellExecution": gate.BeforeTool,
			"postToolUse": gate.AfterTool, "afterMCPExecution": gate.AfterTool, "stop": gate.TurnEnd},
		amend: func(said payload, e *gate.Event) {
			switch said.text([]string{"hook_event_name"}) {
			case "beforeMCPExecution", "afterMCPExecution": // as preToolUse names it
				e.Tool = "MCP:" + e.Tool
			case "beforeShellExecution":
				e.Tool, e.Input = "Shell", member("command", said["command"])
			}
		},
		refuse: func(_, reason string) any {
			return map[string]any{"permission": "deny", "user_message": reason, "agent_message": reason, "decision": "deny", "reason": reason}
		},
		hold: func(_, reason string) any { return map[string]any{"followup_message": reason} }}
}

func member(name string, value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	return json.RawMessage(`{"` + name + `":` + string(value) + `}`)
}

func vscode() Client {
	c := claudeLike("vscode")
	c.session, c.event = append(c.session, "sessionId"), append(c.event, "hookEventName")
	c.output, c.silent = append(c.output, "tool_result"), false
	c.refuse = func(event, reason string) any {
		return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": event, "permissionDecision": "deny",
			"permissionDecisionReason": reason, "additionalContext": reason}}
	}
	c.hold = func(event, reason string) any {
		return map[string]any{"decision": "block", "reason": reason,
			"hookSpecificOutput": map[string]any{"hookEventName": event, "decision": "block", "reason": reason}}
	}
	return c
}

// copilotCLI does not name its events: the hook's command does, else the event's
// members decide.
func copilotCLI() Client {
	return Client{Name: "copilot-cli",
		session: []string{"sessionId", "session_id"}, event: []string{"hookEventName", "hook_event_name"}, folder: []string{"cwd"},
		tool: []string{"toolName", "tool_name"}, input: []string{"toolArgs", "tool_input"}, output: []string{"toolResult", "tool_result", "tool_response"},
		kinds: map[string]gate.Kind{"preToolUse": gate.BeforeTool, "postToolUse": gate.AfterTool, "agentStop": gate.TurnEnd,
			"PreToolUse": gate.BeforeTool, "PostToolUse": gate.AfterTool, "Stop": gate.TurnEnd},
		amend: func(said payload, e *gate.Event) {
			switch {
			case e.Kind != gate.Other || said.text([]string{"hookEventName", "hook_event_name"}) != "":
			case len(e.Output) > 0:
				e.Kind = gate.AfterTool
			case e.Tool != "":
				e.Kind = gate.BeforeTool
			case said.text([]string{"stopReason"}) != "":
				e.Kind = gate.TurnEnd
			}
		},
		refuse: func(_, reason string) any {
			return map[string]any{"permissionDecision": "deny", "permissionDecisionReason": reason}
		},
		hold: blocked}
}

// windsurf asks by what is done, not by the tool.
func windsurf() Client {
	kinds := map[string]gate.Kind{"pre_run_command": gate.BeforeTool, "pre_write_code": gate.BeforeTool, "pre_read_code": gate.BeforeTool,
		"pre_mcp_tool_use": gate.BeforeTool, "post_mcp_tool_use": gate.AfterTool}
	tools := map[string]string{"pre_run_command": "run_command", "pre_write_code": "write_code", "pre_read_code": "read_code"}
	return Client{Name: "windsurf", status: 2, kinds: kinds,
		session: []string{"trajectory_id"}, event: []string{"agent_action_name"}, folder: []string{"tool_info.cwd"},
		input: []string{"tool_info.mcp_tool_arguments", "tool_info"}, output: []string{"tool_info.mcp_result"},
		amend: func(said payload, e *gate.Event) {
			e.Tool = tools[said.text([]string{"agent_action_name"})]
			if name := said.text([]string{"tool_info.mcp_tool_name"}); e.Tool == "" && name != "" {
				e.Tool = "mcp__" + said.text([]string{"tool_info.mcp_server_name"}) + "__" + name
			}
		}}
}

// kiro sends no session id, so all conversations of a folder count as one.
func kiro() Client {
	c := claudeLike("kiro")
	c.status, c.refuse, c.hold, c.session = 2, nil, nil, append(c.session, "sessionId", "conversation_id", "cwd")
	c.kinds = map[string]gate.Kind{"PreToolUse": gate.BeforeTool, "PostToolUse": gate.AfterTool, "preToolUse": gate.BeforeTool, "postToolUse": gate.AfterTool}
	return c
}

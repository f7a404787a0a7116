package clientsetup

import (
	"cmp"
	"encoding/json"

	"savant/fault"
)

// Event is an upcoming tool call of a client.
type Event struct {
	Session, Folder string
	// Next is true for think.next of Savant's server, false for a line of the shell.
	Next  bool
	Input any
}

// beforeNames are the names of the event before a tool, if different from Claude Code's.
var beforeNames = map[string]string{"gemini-cli": "BeforeTool", "cursor": "preToolUse", "copilot-cli": "preToolUse"}

// Payload is the input of the client's hook for an event.
func (c Client) Payload(e Event) ([]byte, error) {
	name, tool := cmp.Or(beforeNames[c.Name], "PreToolUse"), "Bash"
	if e.Next {
		tool = "mcp__savant__think_next"
	}
	said := object{"hook_event_name": name, "session_id": e.Session, "cwd": e.Folder, "tool_name": tool, "tool_input": e.Input}
	switch c.Name {
	case "cursor":
		said["conversation_id"], said["workspace_roots"] = e.Session, []string{e.Folder}
	case "copilot-cli":
		said = object{"hookEventName": name, "sessionId": e.Session, "cwd": e.Folder, "toolName": tool, "toolArgs": e.Input}
	case "windsurf":
		said = object{"agent_action_name": "pre_run_command", "trajectory_id": e.Session, "tool_info": object{"cwd": e.Folder, "command_line": e.Input}}
		if e.Next {
			said = object{"agent_action_name": "pre_mcp_tool_use", "trajectory_id": e.Session, "tool_info": object{"cwd": e.Folder,
				"mcp_server_name": "savant", "mcp_tool_name": "think_next", "mcp_tool_arguments": e.Input}}
		}
	}
	data, err := json.Marshal(said)
	if err != nil {
		return nil, fault.New(fault.Internal, "encode an event: %w", err)
	}
	return data, nil
}

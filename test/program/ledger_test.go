package program

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
)

// toolServer is an MCP server over stdio with tools of the tests. It does without mcp-go's
// server, which would have each process of this binary compile schemas at its start.
type toolServer struct {
	tools   []mcp.Tool
	answers map[string]func(mcp.CallToolRequest) (*mcp.CallToolResult, error)
}

func (s *toolServer) add(tool mcp.Tool, answer func(mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
	if s.answers == nil {
		s.answers = map[string]func(mcp.CallToolRequest) (*mcp.CallToolResult, error){}
	}
	s.tools = append(s.tools, tool)
	s.answers[tool.Name] = answer
}

// serve answers until stdin ends, and returns the exit status.
func (s *toolServer) serve() int {
	lines, replies := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var asked struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
		}
		if json.Unmarshal(line, &asked) != nil {
			return 1
		}
		if asked.ID == nil { // a notification
			continue
		}
		reply := map[string]any{"jsonrpc": "2.0", "id": asked.ID}
		if result, err := s.answer(asked.Method, line); err == nil {
			reply["result"] = result
		} else {
			reply["error"] = map[string]any{"code": mcp.METHOD_NOT_FOUND, "message": err.Error()}
		}
		if replies.Encode(reply) != nil {
			return 1
		}
	}
}

func (s *toolServer) answer(method string, line []byte) (any, error) {
	switch method {
	case "initialize":
		return map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "tools", "version": "1"}}, nil
	case "ping":
		return map[string]any{}, nil
	case "tools/list":
		return map[string]any{"tools": s.tools}, nil
	case "tools/call":
		var request mcp.CallToolRequest
		if err := json.Unmarshal(line, &request); err != nil {
			return nil, err
		}
		if answer := s.answers[request.Params.Name]; answer != nil {
			return answer(request)
		}
	}
	return nil, fmt.Errorf("there is no %s here", method)
}

// ledger is a server of one tool that writes a line each time that it is called.
func ledger() int {
	no, tool := false, mcp.Tool{Name: "note", Description: "Writes a line.", RawInputSchema: json.RawMessage(`{"type":"object","properties":{"line":{"type":"string"}}}`)}
	tool.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &no, IdempotentHint: &no, OpenWorldHint: &no}
	var serves toolServer
	serves.add(tool, func(request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, err := os.OpenFile(os.Getenv("LEDGER"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(out, request.GetString("line", ""))
		}
		return mcp.NewToolResultText("written"), err
	})
	return serves.serve()
}

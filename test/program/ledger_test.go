package program

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"
)

// ledger is a server of one tool that writes a line each time that it is called.
func ledger() int {
	file := os.Getenv("LEDGER")
	no, tool := false, mcp.Tool{Name: "note", Description: "Writes a line.", RawInputSchema: json.RawMessage(`{"type":"object","properties":{"line":{"type":"string"}}}`)}
	tool.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &no, IdempotentHint: &no, OpenWorldHint: &no}
	serves := mcpserver.NewMCPServer("ledger", "1")
	serves.AddTool(tool, func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(out, request.GetString("line", ""))
		}
		return mcp.NewToolResultText("written"), err
	})
	if mcpserver.ServeStdio(serves) != nil {
		return 1
	}
	return 0
}

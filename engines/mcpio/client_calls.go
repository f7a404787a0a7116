package mcpio

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
)

// Tools returns the server's tools, under the names it lists, without Call.
func (c *Client) Tools(ctx context.Context) ([]engines.Tool, error) {
	var tools []engines.Tool
	params := map[string]any{}
	for {
		var page struct {
			Tools      []listedTool `json:"tools"`
			NextCursor string       `json:"nextCursor"`
		}
		if err := c.request(ctx, string(mcp.MethodToolsList), params, &page); err != nil {
			return nil, err
		}
		for _, listed := range page.Tools {
			tools = append(tools, listed.tool())
		}
		if page.NextCursor == "" || page.NextCursor == params["cursor"] {
			return tools, nil
		}
		params["cursor"] = page.NextCursor
	}
}

// listedTool is a tool as tools/list shows it. Hints that are not given are
// what the protocol says they then are: destructive, and open to the world.
type listedTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnly    bool  `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  bool  `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

func (l listedTool) tool() engines.Tool {
	hints := l.Annotations
	return engines.Tool{
		Name: l.Name, Title: l.Title, Description: l.Description,
		Input: l.InputSchema, Output: l.OutputSchema,
		ReadOnly:    hints.ReadOnly,
		Destructive: !hints.ReadOnly && (hints.Destructive == nil || *hints.Destructive),
		Idempotent:  hints.Idempotent,
		OpenWorld:   hints.OpenWorld == nil || *hints.OpenWorld,
		Eager:       string(l.Meta[alwaysLoad]) == "true",
	}
}

// Call calls a tool and returns its structured content, or the JSON of its
// text where it has none. args is any value that marshals to a JSON object.
// A tool that failed returns the *fault.Error it reported.
func (c *Client) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	var result struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
		Content           []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	params := map[string]any{"name": name, "arguments": args}
	if err := c.request(ctx, string(mcp.MethodToolsCall), params, &result); err != nil {
		return nil, err
	}
	var texts strings.Builder
	for _, content := range result.Content {
		texts.WriteString(content.Text)
	}
	structured := result.StructuredContent
	if structured == nil && json.Valid([]byte(texts.String())) {
		structured = json.RawMessage(texts.String())
	}
	if !result.IsError {
		return structured, nil
	}
	if coded := new(fault.Error); json.Unmarshal(structured, coded) == nil && coded.Code != "" {
		return nil, coded
	}
	return nil, fault.New(fault.ToolFailed, "%s: %s", name, texts.String())
}

// Prompt returns the text of a prompt: that of its messages, a blank line
// between them.
func (c *Client) Prompt(ctx context.Context, name string, args map[string]string) (string, error) {
	var result struct {
		Messages []struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	params := map[string]any{"name": name, "arguments": args}
	if err := c.request(ctx, string(mcp.MethodPromptsGet), params, &result); err != nil {
		return "", err
	}
	texts := make([]string, len(result.Messages))
	for i, message := range result.Messages {
		texts[i] = message.Content.Text
	}
	return strings.Join(texts, "\n\n"), nil
}

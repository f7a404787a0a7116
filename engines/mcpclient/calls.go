package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
)

// Definition is a tool exactly as its server lists it. Name is empty if the definition
// has no name.
type Definition struct {
	Name string
	Raw  json.RawMessage
}

// maxPages bounds a list whose pages never end.
const maxPages = 100

// Definitions returns the tools of the server, in its order.
func (c *Client) Definitions(ctx context.Context) ([]Definition, error) {
	var all []Definition
	params, seen := map[string]any{}, map[string]bool{}
	for range maxPages {
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := c.request(ctx, string(mcp.MethodToolsList), params, &page); err != nil {
			return nil, err
		}
		known := len(all)
		for _, raw := range page.Tools {
			var named struct {
				Name string `json:"name"`
			}
			_ = decode(raw, &named) // an invalid definition has no name
			same := func(d Definition) bool { return d.Name == named.Name && bytes.Equal(d.Raw, raw) }
			if len(seen) == 0 || !slices.ContainsFunc(all, same) { // a cursor that stands still lists them again
				all = append(all, Definition{Name: named.Name, Raw: raw})
			}
		}
		if page.NextCursor == "" || seen[page.NextCursor] || len(all) == known && known > 0 {
			return all, nil
		}
		seen[page.NextCursor] = true
		params = map[string]any{"cursor": page.NextCursor}
	}
	return nil, fault.New(fault.LimitExceeded, "the server's list of tools has more than %d pages", maxPages)
}

// Tools returns the server's tools under their own names, without Call.
func (c *Client) Tools(ctx context.Context) ([]engines.Tool, error) {
	definitions, err := c.Definitions(ctx)
	if err != nil {
		return nil, err
	}
	tools := make([]engines.Tool, len(definitions))
	for i, each := range definitions {
		if tools[i], err = each.Tool(); err != nil {
			return nil, err
		}
	}
	return tools, nil
}

// Tool returns the definition as a Tool without Call. Missing hints get the protocol's
// defaults: destructive and open-world.
func (d Definition) Tool() (engines.Tool, error) {
	var listed struct {
		Name         string          `json:"name"`
		Title        string          `json:"title"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  struct {
			Title       string `json:"title"`
			ReadOnly    bool   `json:"readOnlyHint"`
			Destructive *bool  `json:"destructiveHint"`
			Idempotent  bool   `json:"idempotentHint"`
			OpenWorld   *bool  `json:"openWorldHint"`
		} `json:"annotations"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if d.Name == "" {
		return engines.Tool{}, fault.New(fault.ToolFailed, "the server lists a tool without a name")
	}
	if err := decode(d.Raw, &listed); err != nil {
		return engines.Tool{}, fault.New(fault.ToolFailed, "the definition of %q is not valid MCP: %s", d.Name, describeMismatch(err))
	}
	hints := listed.Annotations
	listed.Title = cmp.Or(listed.Title, hints.Title)
	return engines.Tool{
		Name: listed.Name, Title: listed.Title, Description: listed.Description,
		Input: listed.InputSchema, Output: listed.OutputSchema,
		Mounted:     true,
		ReadOnly:    hints.ReadOnly,
		Destructive: !hints.ReadOnly && (hints.Destructive == nil || *hints.Destructive),
		Idempotent:  hints.ReadOnly || hints.Idempotent,
		OpenWorld:   hints.OpenWorld == nil || *hints.OpenWorld,
		Eager:       string(listed.Meta[engines.MetaAlwaysLoad]) == "true",
	}, nil
}

// CallResult is the result of a tool as received.
type CallResult struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
	// Type is empty or "complete"; any other value asks for input that this client
	// cannot give.
	Type string `json:"resultType"`
}

// Text returns the text blocks, joined by line breaks.
func (r CallResult) Text() string {
	var texts []string
	for _, raw := range r.Content {
		var block struct {
			Text *string `json:"text"`
		}
		if decode(raw, &block) == nil && block.Text != nil {
			texts = append(texts, *block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Invoke calls a tool; args is any value that marshals to a JSON object. progress,
// unless nil, receives the server's progress reports. The trace of ctx goes with the
// call. The failure of a tool is not an error but a CallResult with IsError.
func (c *Client) Invoke(ctx context.Context, name string, args any, progress func(done, total float64, message string)) (CallResult, error) {
	var result CallResult
	params := map[string]any{"name": name, "arguments": args}
	if progress != nil {
		token := fmt.Sprintf("savant-%d", c.tokens.Add(1))
		c.reports.Store(token, progress)
		defer c.reports.Delete(token)
		params["_meta"] = map[string]any{"progressToken": token}
	}
	carryTrace(ctx, params)
	if err := c.request(ctx, string(mcp.MethodToolsCall), params, &result); err != nil {
		return CallResult{}, err
	}
	if bytes.Equal(result.Structured, []byte("null")) {
		result.Structured = nil
	}
	if result.Type != "" && result.Type != string(mcp.ResultTypeComplete) {
		return CallResult{}, fault.New(fault.ToolFailed, "%s asks for further input (%s), which this client does not support", name, fault.Cut(result.Type, 40))
	}
	return result, nil
}

// Call calls a tool and returns its structured content, or else the JSON of its text.
// args is any value that marshals to a JSON object. The failure of a tool is returned
// as its *fault.Error.
func (c *Client) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	result, err := c.Invoke(ctx, name, args, nil)
	if err != nil {
		return nil, err
	}
	structured, text := result.Structured, result.Text()
	if structured == nil && json.Valid([]byte(text)) {
		structured = json.RawMessage(text)
	}
	if !result.IsError {
		return structured, nil
	}
	if coded := new(fault.Error); json.Unmarshal(structured, coded) == nil && coded.Code != "" {
		return nil, coded
	}
	return nil, fault.New(fault.ToolFailed, "%s: %s", name, text)
}

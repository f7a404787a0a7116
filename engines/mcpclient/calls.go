package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// Definition is a tool exactly as its server lists it. Name is empty if the definition
// has no name.
type Definition struct {
	Name string
	Raw  json.RawMessage
}

// maxPages bounds a list whose pages never end, maxEmpty those of its pages that are empty.
const (
	maxPages = 100
	maxEmpty = 3
)

// noCursor are the cursors of a last page, as JSON.
var noCursor = []string{"", "null", `""`, "false", "0"}

// Definitions returns the tools of the server, in its order. One that it lists twice in the
// same words is there once. A cursor is any value, and goes back as it came.
func (c *Client) Definitions(ctx context.Context) ([]Definition, error) {
	var all []Definition
	params, listed, cursors, empty := map[string]any{}, map[string]bool{}, map[string]bool{}, 0
	for range maxPages {
		var page struct {
			Tools  []json.RawMessage `json:"tools"`
			Cursor json.RawMessage   `json:"nextCursor"`
		}
		if err := c.request(ctx, string(mcp.MethodToolsList), params, &page); err != nil {
			return nil, err
		}
		known := len(all)
		for _, raw := range page.Tools {
			if !listed[string(raw)] {
				all = append(all, Definition{Name: jsonvalue.TextMember(raw, "name"), Raw: raw})
			}
			listed[string(raw)] = true
		}
		if len(page.Tools) == 0 {
			empty++
		}
		cursor, still := string(page.Cursor), len(all) == known && (len(page.Tools) > 0 || empty == maxEmpty)
		if slices.Contains(noCursor, cursor) || cursors[cursor] || still {
			return all, nil
		}
		cursors[cursor] = true
		params = map[string]any{"cursor": page.Cursor}
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

// Tool returns the definition as a Tool without Call. Missing hints, and those that are
// neither true nor false, get the protocol's defaults: destructive and open-world.
func (d Definition) Tool() (engines.Tool, error) {
	var listed struct {
		Title        optional[string] `json:"title"`
		Description  optional[string] `json:"description"`
		InputSchema  json.RawMessage  `json:"inputSchema"`
		OutputSchema json.RawMessage  `json:"outputSchema"`
		Annotations  optional[struct {
			Title       optional[string] `json:"title"`
			ReadOnly    optional[bool]   `json:"readOnlyHint"`
			Destructive optional[*bool]  `json:"destructiveHint"`
			Idempotent  optional[bool]   `json:"idempotentHint"`
			OpenWorld   optional[*bool]  `json:"openWorldHint"`
		}] `json:"annotations"`
		Meta json.RawMessage `json:"_meta"`
	}
	if d.Name == "" {
		return engines.Tool{}, fault.New(fault.ToolFailed, "the server lists a tool without a name")
	}
	_ = decode(d.Raw, &listed) // an object, since it has a name: any members fit
	hints := listed.Annotations.value
	readOnly, destructive, openWorld := hints.ReadOnly.value, hints.Destructive.value, hints.OpenWorld.value
	return engines.Tool{
		Name: d.Name, Title: cmp.Or(listed.Title.value, hints.Title.value), Description: listed.Description.value,
		Input: listed.InputSchema, Output: listed.OutputSchema,
		Mounted:     true,
		ReadOnly:    readOnly,
		Destructive: !readOnly && (destructive == nil || *destructive),
		Idempotent:  readOnly || hints.Idempotent.value,
		OpenWorld:   openWorld == nil || *openWorld,
		Eager:       string(jsonvalue.Member(listed.Meta, engines.MetaAlwaysLoad)) == "true",
	}, nil
}

// Invoke calls a tool; args is any value that marshals to a JSON object. progress,
// unless nil, receives the server's progress reports. The trace of ctx goes with the
// call. The failure of a tool is not an error but a CallResult with IsError.
func (c *Client) Invoke(ctx context.Context, name string, args any, progress func(done, total float64, message string)) (CallResult, error) {
	params := map[string]any{"name": name, "arguments": args}
	if progress != nil {
		token := c.tokens.Add(1)
		c.reports.Store(strconv.FormatInt(token, 10), progress)
		defer c.reports.Delete(strconv.FormatInt(token, 10))
		params["_meta"] = map[string]any{"progressToken": token}
	}
	carryTrace(ctx, params)
	var given json.RawMessage
	if err := c.request(ctx, string(mcp.MethodToolsCall), params, &given); err != nil {
		return CallResult{}, err
	}
	if kind := jsonvalue.TextMember(given, "resultType"); kind != "" && kind != string(mcp.ResultTypeComplete) {
		return CallResult{}, fault.New(fault.ToolFailed, "%s asks for further input (%s), which this client does not support", name, fault.Cut(kind, 40))
	}
	return newCallResult(given), nil
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

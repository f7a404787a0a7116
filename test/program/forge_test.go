package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
)

// forgeStore is what a forge has, in a file: the comments of its one request, and the
// address that it tells once it has written a comment, before it answers.
type forgeStore struct {
	Head     string   `json:"head"`
	Comments []string `json:"comments"`
	Told     string   `json:"told"`
}

const forgePatch = "@@ -1,1 +1,2 @@\n package pay\n+// More.\n"

// forge is the MCP server of a forge over stdio: savant-forge KIND FILE. Its tools and
// the shapes of their results are those of the official servers: github; gitlab before
// 19.3 (REST, lists within an object as structured content); gitlab-next since (GraphQL,
// lists with cursors).
type forge struct{ kind, file string }

func serveForge() int {
	f := forge{os.Args[1], os.Args[2]}
	serves := &toolServer{}
	about := `"project_id":{"type":"string"},"url":{"type":"string"},"merge_request_iid":{"type":"integer"}`
	numbered := `"id":{"type":"string"},"merge_request_iid":{"type":"integer"},"per_page":{"type":"integer"},"page":{"type":"integer"}`
	switch f.kind {
	case "github":
		f.add(serves, "pull_request_read", `"method":{"type":"string"},"owner":{"type":"string"},"repo":{"type":"string"},"pullNumber":{"type":"number"},"page":{"type":"number"},"perPage":{"type":"number"}`, f.githubRead)
		f.add(serves, "add_issue_comment", `"owner":{"type":"string"},"repo":{"type":"string"},"issue_number":{"type":"number"},"body":{"type":"string"}`, f.write)
	case "gitlab":
		f.add(serves, "get_merge_request", `"id":{"type":"string"},"merge_request_iid":{"type":"integer"}`, f.restRequest)
	case "gitlab-next":
		f.add(serves, "get_merge_request", about, f.graphRequest)
		f.add(serves, "get_merge_request_commits", numbered, f.commits)
	}
	if f.kind != "github" {
		f.add(serves, "get_merge_request_diffs", numbered, f.diffs)
		f.add(serves, "get_merge_request_notes", about+`,"after":{"type":"string"},"first":{"type":"integer"}`, f.notes)
		f.add(serves, map[string]string{"gitlab": "create_merge_request_note", "gitlab-next": "save_note"}[f.kind], about+`,"body":{"type":"string"}`, f.write)
	}
	return serves.serve()
}

func (f forge) add(to *toolServer, name, properties string, answer func(forgeStore, mcp.CallToolRequest) (any, error)) {
	no := false
	tool := mcp.Tool{Name: name, Annotations: mcp.ToolAnnotation{DestructiveHint: &no}, Description: "A tool of a forge.", RawInputSchema: json.RawMessage(`{"type":"object","properties":{` + properties + `}}`)}
	to.add(tool, func(request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		store, err := readForge(f.file)
		if err != nil {
			return nil, err
		}
		got, err := answer(store, request)
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		if text, plain := got.(string); plain {
			return mcp.NewToolResultText(text), nil
		}
		raw, err := json.Marshal(got)
		result := mcp.NewToolResultText(string(raw))
		if list, isList := got.([]any); isList {
			result.StructuredContent = map[string]any{"items": list, "metadata": map[string]any{"count": len(list), "has_more": false}}
		} else {
			result.StructuredContent = got
		}
		if f.kind == "github" { // it has text alone
			result.StructuredContent = nil
		}
		return result, err
	})
}

func readForge(file string) (store forgeStore, err error) {
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &store)
	}
	return store, err
}

func (s forgeStore) save(file string) error {
	raw, err := json.Marshal(s)
	return errors.Join(err, os.WriteFile(file, raw, 0o600))
}

// hidden matches what GitHub's server takes out of comments before a model reads them.
var hidden = regexp.MustCompile(`(?s)<!--.*?-->`)

func (f forge) githubRead(store forgeStore, request mcp.CallToolRequest) (any, error) {
	switch request.GetString("method", "") {
	case "get":
		return map[string]any{"number": 12, "head": map[string]any{"sha": store.Head}, "base": map[string]any{"sha": "b1"}}, nil
	case "get_diff":
		return "diff --git a/pay.go b/pay.go\nindex 1..2 100644\n--- a/pay.go\n+++ b/pay.go\n" + forgePatch, nil
	}
	var list []any
	page, size := request.GetInt("page", 1), request.GetInt("perPage", 30)
	for i, each := range store.Comments {
		if i/size == page-1 {
			list = append(list, map[string]any{"id": i, "body": hidden.ReplaceAllString(each, "")})
		}
	}
	raw, err := json.Marshal(list)
	return string(raw), err
}

func (f forge) restRequest(store forgeStore, _ mcp.CallToolRequest) (any, error) {
	return map[string]any{"iid": 12, "sha": store.Head, "diff_refs": map[string]any{"base_sha": "b1", "head_sha": store.Head}}, nil
}

func (f forge) graphRequest(forgeStore, mcp.CallToolRequest) (any, error) {
	return map[string]any{"id": "gid://gitlab/MergeRequest/1", "iid": "12", "sourceBranch": "feature"}, nil
}

func (f forge) commits(store forgeStore, request mcp.CallToolRequest) (any, error) {
	all := []any{map[string]any{"id": store.Head}, map[string]any{"id": "0123"}}
	return all[:min(len(all), request.GetInt("per_page", 20))], nil
}

func (f forge) diffs(_ forgeStore, request mcp.CallToolRequest) (any, error) {
	if request.GetInt("page", 1) > 1 {
		return []any{}, nil
	}
	return []any{map[string]any{"old_path": "pay.go", "new_path": "pay.go", "diff": forgePatch, "too_large": false}}, nil
}

func (f forge) notes(store forgeStore, request mcp.CallToolRequest) (any, error) {
	at, _ := strconv.Atoi(request.GetString("after", "0")) // only from here
	end := min(at+request.GetInt("first", 20), len(store.Comments))
	nodes := []any{}
	for i, each := range store.Comments[at:end] {
		nodes = append(nodes, map[string]any{"id": fmt.Sprint("gid://gitlab/Note/", at+i), "body": each})
	}
	return map[string]any{"id": "gid://gitlab/MergeRequest/1", "notes": map[string]any{"nodes": nodes,
		"pageInfo": map[string]any{"hasNextPage": end < len(store.Comments), "endCursor": strconv.Itoa(end)}}}, nil
}

// quickActions matches what GitLab's server refuses to write.
var quickActions = regexp.MustCompile(`(?m)^\s*/\w+`)

func (f forge) write(store forgeStore, request mcp.CallToolRequest) (any, error) {
	body := request.GetString("body", "")
	if f.kind != "github" && quickActions.MatchString(body) {
		return nil, errors.New("Validation error: Quick actions (commands starting with /) are not allowed in note body")
	}
	store.Comments = append(store.Comments, body)
	err := store.save(f.file)
	if err == nil && store.Told != "" {
		var said *http.Response
		if said, err = http.Get(store.Told); err == nil {
			err = said.Body.Close()
		}
	}
	return map[string]any{"id": len(store.Comments)}, err
}

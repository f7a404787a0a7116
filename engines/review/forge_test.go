package review_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/review"
	"savant/fault"
)

const requestPatch = `diff --git a/pay.go b/pay.go
index 1..2 100644
--- a/pay.go
+++ b/pay.go
@@ -6,3 +6,3 @@ func pay() error {
 	err := send()
-	return err
+	return nil
 }
diff --git "a/b\303\274.txt" "b/b\303\274.txt"
new file mode 100644
--- /dev/null
+++ "b/b\303\274.txt"
@@ -0,0 +1 @@
+--- not a header
diff --git a/old.go b/new.go
similarity index 100%
rename from old.go
rename to new.go
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
`

// forge answers as the MCP servers of GitHub and GitLab do: JSON or text in a block of
// content.
type forge struct {
	t        *testing.T
	comments []string
	asked    []string
}

func (f *forge) tool(name string, properties string, answer func(args map[string]any) string) engines.Tool {
	return engines.Tool{Name: name, Description: "A tool of a forge.", Input: json.RawMessage(`{"type":"object","properties":` + properties + `}`),
		Call: func(_ context.Context, _ engines.Call, raw json.RawMessage) (any, error) {
			var args map[string]any
			require.NoError(f.t, json.Unmarshal(raw, &args))
			f.asked = append(f.asked, name+" "+string(raw))
			blocks, err := json.Marshal([]map[string]string{{"type": "text", "text": answer(args)}})
			return engines.Content{Blocks: blocks}, err
		}}
}

func (f *forge) list() string {
	rows := []map[string]string{}
	for _, each := range f.comments {
		rows = append(rows, map[string]string{"body": each})
	}
	data, err := json.Marshal(rows)
	require.NoError(f.t, err)
	return string(data)
}

func TestARequestIsReadFromGitHub(t *testing.T) {
	f := &forge{t: t}
	read := f.tool("github.pull_request_read", `{"method":{},"owner":{},"repo":{},"pullNumber":{},"perPage":{}}`, func(args map[string]any) string {
		switch args["method"] {
		case "get":
			return `{"number":12,"head":{"ref":"feature","sha":"a2"},"base":{"ref":"main","sha":"b1"}}`
		case "get_diff":
			return requestPatch
		}
		return f.list()
	})
	write := f.tool("github.add_issue_comment", `{"owner":{},"repo":{},"issue_number":{},"body":{}}`, func(args map[string]any) string {
		f.comments = append(f.comments, args["body"].(string))
		return `{"id":1}`
	})
	d := newDesk(t)
	require.NoError(t, d.tools.AddEngine(engines.Engine{Name: "github"}, read, write))
	d.write("a.txt", "1\n")
	d.commit("begin")
	m := call[review.Manifest](d, "review.change", map[string]any{"target": "https://github.com/ada/it/pull/12"})
	var files []string
	for _, each := range m.Files {
		files = append(files, each.Path+" "+each.Status+" "+each.LeftOut)
	}
	require.Equal(t, []string{"pay.go modified ", "bü.txt added ", "new.go renamed renamed without a change", "logo.png modified binary"}, files)
	require.Equal(t, review.Lines{All: 3, Reviewed: 3}, m.Lines)
	part := call[partText](d, "review.part", map[string]any{"source": m.Source, "digest": m.Digest, "part": 1})
	require.Contains(t, part.Text, "      -\treturn err\n    7 +\treturn nil\n")
	require.Contains(t, part.Text, "    1 +--- not a header\n")

	type outcome struct {
		Posted bool
		Why    string
	}
	comment := map[string]any{"source": m.Source, "markdown": "# Review"}
	require.True(t, call[outcome](d, "review.comment", comment).Posted)
	require.Equal(t, outcome{Why: "a review of this commit was posted before"}, call[outcome](d, "review.comment", comment))
	require.Len(t, f.comments, 1)
	require.True(t, strings.HasPrefix(f.comments[0], "# Review\n"))
	require.Contains(t, strings.Join(f.asked, "\n"), `"issue_number":12`)
}

// TestNothingIsPostedUnseen: where the comments cannot be listed, there may be a review
// already; and what looks like a secret is not sent.
func TestNothingIsPostedUnseen(t *testing.T) {
	f := &forge{t: t}
	listed := "Error: 404 Not Found"
	d := newDesk(t)
	require.NoError(t, d.tools.AddEngine(engines.Engine{Name: "github"},
		f.tool("github.pull_request_read", `{"method":{},"owner":{},"repo":{},"pullNumber":{}}`, func(map[string]any) string { return listed }),
		f.tool("github.add_issue_comment", `{"owner":{},"repo":{},"issue_number":{},"body":{}}`, func(args map[string]any) string {
			f.comments = append(f.comments, args["body"].(string))
			return `{"id":1}`
		})))
	key := "ghp" + "_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
	comment := map[string]any{"source": map[string]any{"head": "a2", "project": "ada/it", "number": 12, "kind": "github"}, "markdown": "# Review\nThe key " + key + " is in it."}
	d.refused(fault.ToolFailed, "review.comment", comment)
	require.Empty(t, f.comments)
	for _, listed = range []string{"", "null", "[]"} {
		require.Equal(t, true, call[map[string]any](d, "review.comment", comment)["posted"])
	}
	require.Len(t, f.comments, 3)
	require.Contains(t, f.comments[0], "The key [redacted] is in it.")
}

func TestARequestIsReadFromGitLab(t *testing.T) {
	f := &forge{t: t}
	d := newDesk(t)
	about := `{"project_id":{"type":"string"},"merge_request_iid":{"type":"string"},"body":{"type":"string"}}`
	require.NoError(t, d.tools.AddEngine(engines.Engine{Name: "lab"},
		f.tool("lab.get_merge_request", about, func(map[string]any) string {
			return `{"iid":7,"sha":"a2","diff_refs":{"base_sha":"b1","head_sha":"a2"}}`
		}),
		f.tool("lab.get_merge_request_diffs", about, func(map[string]any) string {
			return `[{"old_path":"a.go","new_path":"a.go","diff":"@@ -1 +1 @@\n-a\n+b\n"},{"old_path":"x","new_path":"y","renamed_file":true,"diff":""},
				{"old_path":"z","new_path":"z","new_file":true,"too_large":true,"diff":""}]`
		}),
		f.tool("lab.get_merge_request_notes", about, func(map[string]any) string { return f.list() }),
		f.tool("lab.create_merge_request_note", about, func(args map[string]any) string {
			f.comments = append(f.comments, args["body"].(string))
			return `{}`
		})))
	d.write("a.txt", "1\n")
	d.commit("begin")
	m := call[review.Manifest](d, "review.change", map[string]any{"target": "MR 7", "project": "group/it"})
	require.Equal(t, 2, m.Lines.Reviewed)
	require.Equal(t, "too long: the forge does not show its patch", m.Files[2].LeftOut)
	require.Contains(t, f.asked[0], `"merge_request_iid":"7"`)
	for range 2 {
		call[map[string]any](d, "review.comment", map[string]any{"source": m.Source, "markdown": "# Review"})
	}
	require.Len(t, f.comments, 1)
}

// A server that lists in pages is asked for all of them: for the files of a request,
// and for the comments among which a review may stand already.
func TestEveryPageOfAListIsRead(t *testing.T) {
	f := &forge{t: t}
	d := newDesk(t)
	about := `{"id":{"type":"string"},"merge_request_iid":{"type":"integer"},"body":{"type":"string"},"page":{"type":"integer"},"per_page":{"type":"integer"}}`
	page := func(args map[string]any, rows []string) string {
		if at := int(args["page"].(float64)); at <= len(rows) {
			return "[" + rows[at-1] + "]"
		}
		return "[]"
	}
	f.comments = []string{"hello", "hello again"}
	require.NoError(t, d.tools.AddEngine(engines.Engine{Name: "lab"},
		f.tool("lab.get_merge_request", about, func(map[string]any) string { return `{"iid":7,"diff_refs":{"base_sha":"b1","head_sha":"a2"}}` }),
		f.tool("lab.get_merge_request_diffs", about, func(args map[string]any) string {
			return page(args, []string{`{"old_path":"a","new_path":"a","diff":"@@ -1 +1 @@\n-a\n+b\n"}`, `{"old_path":"c","new_path":"c","diff":"@@ -1 +1 @@\n-c\n+d\n"}`})
		}),
		f.tool("lab.get_merge_request_notes", about, func(args map[string]any) string {
			var rows []string
			for _, each := range f.comments {
				row, err := json.Marshal(map[string]string{"body": each})
				require.NoError(t, err)
				rows = append(rows, string(row))
			}
			return page(args, rows)
		}),
		f.tool("lab.create_merge_request_note", about, func(args map[string]any) string {
			f.comments = append(f.comments, args["body"].(string))
			return `{}`
		})))
	d.write("a.txt", "1\n")
	d.commit("begin")
	m := call[review.Manifest](d, "review.change", map[string]any{"target": "MR 7", "project": "group/it"})
	require.Equal(t, review.Lines{All: 4, Reviewed: 4}, m.Lines)
	for range 2 {
		call[map[string]any](d, "review.comment", map[string]any{"source": m.Source, "markdown": "# Review"})
	}
	require.Len(t, f.comments, 3)
}

// Without a forge a request that was not fetched is refused, with what to do.
func TestARequestThatIsNowhere(t *testing.T) {
	d := newDesk(t)
	d.write("a.txt", "1\n")
	d.commit("begin")
	_, err := d.tools.Invoke(t.Context(), engines.Call{}, "review.change", json.RawMessage(`{"target":"https://github.com/ada/it/pull/12"}`))
	require.ErrorIs(t, err, fault.InvalidParams)
	require.Contains(t, fault.From(err).Hint.Text, "git fetch origin pull/N/head")
	d.refused(fault.InvalidParams, "review.comment", map[string]any{"source": map[string]any{}, "markdown": "x"})
}

// TestShapesOfAnswers: a mounted server's text comes as {"text": …}, a list of GitLab's
// server within an object. What is no diff, or only the beginning of one, is an error and
// never a change without files.
func TestShapesOfAnswers(t *testing.T) {
	var answer any
	d := newDesk(t)
	read := engines.Tool{Name: "github.pull_request_read", Description: "A tool of a forge.", Input: json.RawMessage(`{"type":"object","properties":{"method":{}}}`),
		Call: func(_ context.Context, _ engines.Call, raw json.RawMessage) (any, error) {
			if strings.Contains(string(raw), `"get"`) {
				return map[string]any{"head": map[string]string{"sha": "a2"}}, nil
			}
			return answer, nil
		}}
	require.NoError(t, d.tools.AddEngine(engines.Engine{Name: "github"}, read))
	d.write("a.txt", "1\n")
	d.commit("begin")
	change := func(number string) (m review.Manifest, err error) {
		result, err := d.tools.Invoke(t.Context(), engines.Call{}, "review.change", json.RawMessage(`{"target":"https://github.com/ada/it/pull/`+number+`"}`))
		if err == nil {
			require.NoError(t, json.Unmarshal(result.JSON, &m))
		}
		return m, err
	}
	answer = map[string]string{"text": requestPatch}
	m, err := change("1")
	require.NoError(t, err)
	require.Len(t, m.Files, 4)
	answer = map[string]string{"text": "Sorry, this diff cannot be shown."}
	_, err = change("2")
	require.ErrorIs(t, err, fault.ToolFailed)
	require.ErrorContains(t, err, "Sorry, this diff cannot be shown.")
	answer = map[string]string{"text": requestPatch + strings.Repeat("+more\n", 1<<18)}
	_, err = change("3")
	require.ErrorIs(t, err, fault.LimitExceeded)
	require.Contains(t, fault.From(err).Hint.Text, "git fetch origin")
}

package models_test

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/models"
)

// offered are the tools of a repository, as an agent would offer them.
var offered = []reasoning.Tool{
	{Name: "context.search", Description: "Full-text search of the repository.", ReadOnly: true,
		InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}`)},
	{Name: "context.read", Description: "Read lines of a file.", ReadOnly: true,
		InputSchema: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"start_line":{"type":"integer"},"end_line":{"type":"integer"}}}`)},
	{Name: "git.status", Description: "The state of the work tree.", ReadOnly: true, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
}

// world answers calls over a tree of files: a search that ranks lines by how
// rare the words are that they hold, and a reading of ranges.
type world struct {
	files map[string][]string
	names []string
}

func newWorld(t *testing.T, tree fs.FS) *world {
	t.Helper()
	w := &world{files: map[string][]string{}}
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && (base == "node_modules" || base == "testdata" || len(base) > 1 && base[0] == '.') {
			return fs.SkipDir
		}
		if entry.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml"}, path.Ext(base)) {
			return nil
		}
		data, err := fs.ReadFile(tree, name)
		w.files[name] = strings.Split(string(data), "\n")
		w.names = append(w.names, name)
		return err
	}))
	return w
}

func (w *world) call(t *testing.T, each reasoning.Call) reasoning.Outcome {
	t.Helper()
	outcome := reasoning.Outcome{ToolName: each.ToolName, Args: each.Args}
	var args struct {
		Query, Path string
		Limit       int
		Start       int `json:"start_line"`
		End         int `json:"end_line"`
	}
	require.NoError(t, json.Unmarshal(each.Args, &args))
	var result any
	switch each.ToolName {
	case "context.search":
		result = map[string]any{"rows": w.search(args.Query, args.Limit)}
	case "context.read":
		lines := w.files[args.Path]
		if lines == nil {
			outcome.Error = fault.New(fault.InvalidParams, "no file %s", args.Path)
			return outcome
		}
		result = map[string]any{"path": args.Path, "start_line": args.Start,
			"text": strings.Join(lines[args.Start-1:min(args.End, len(lines))], "\n") + "\n"}
	case "git.status":
		result = map[string]any{"branch": "main", "clean": true}
	default:
		t.Fatalf("called %s, which is not offered", each.ToolName)
	}
	var err error
	outcome.Result, err = json.Marshal(result)
	require.NoError(t, err)
	return outcome
}

type hit struct {
	Path    string  `json:"path"`
	Line    int     `json:"line"`
	Snippet string  `json:"snippet"`
	Score   float64 `json:"score"`
}

// search ranks files by the rarity of the words they hold and answers the best line of each.
func (w *world) search(query string, limit int) []hit {
	words := strings.FieldsFunc(strings.ToLower(query), func(c rune) bool { return c == ' ' || c == '.' })
	weights := map[string]float64{}
	for _, word := range words {
		count := 1
		for _, name := range w.names {
			if strings.Contains(strings.ToLower(strings.Join(w.files[name], "\n")), word) {
				count++
			}
		}
		weights[word] = math.Log(float64(1+len(w.names)) / float64(count))
	}
	var hits []hit
	for _, name := range w.names {
		best := hit{}
		total := map[string]bool{}
		for i, line := range w.files[name] {
			score, lower := 0.0, strings.ToLower(line)
			for _, word := range words {
				if strings.Contains(lower, word) {
					score += weights[word]
					total[word] = true
				}
			}
			if score > best.Score {
				best = hit{name, i + 1, strings.TrimSpace(line), score}
			}
		}
		for word := range total {
			best.Score += weights[word]
		}
		if best.Path != "" {
			hits = append(hits, best)
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(math.Round(b.Score*1e6), math.Round(a.Score*1e6)), strings.Compare(a.Path, b.Path))
	})
	return hits[:min(len(hits), limit)]
}

// pursue plays the runtime until the planner finishes; it returns the steps and the answer.
func pursue(t *testing.T, w *world, request reasoning.Request) (steps []reasoning.Step, final string) {
	t.Helper()
	for request.Step = 1; ; request.Step++ {
		require.Less(t, request.Step, 10, "it does not finish")
		intent := models.Plan(request)
		again := models.Plan(request)
		require.Equal(t, intent, again)
		require.Equal(t, models.OfflinePlanner, intent.Model)
		if intent.Action == reasoning.ActionFinish {
			return request.Memory.Steps, intent.Final
		}
		step := reasoning.Step{Index: request.Step, Action: intent.Action, Reasoning: intent.Reasoning}
		for _, each := range intent.AllCalls() {
			step.Outcomes = append(step.Outcomes, w.call(t, each))
		}
		request.Memory.Steps = append(request.Memory.Steps, step)
		request.LastOutput = step.Outcomes
	}
}

func TestPlannerFindsTheStdioLoopOfThisRepository(t *testing.T) {
	w := newWorld(t, os.DirFS("../.."))
	steps, final := pursue(t, w, reasoning.Request{Goal: "Where is the stdio loop and how does it end?", Tools: offered})
	t.Log(final)
	for _, s := range steps {
		for _, o := range s.Outcomes {
			t.Log(s.Reasoning, o.ToolName, string(o.Args))
		}
	}
	require.Contains(t, final, "engines/mcpio/serve.go")
	require.LessOrEqual(t, len(steps), 4)
}

var small = fstest.MapFS{
	"indexer/index.go": {Data: []byte("// Package indexer finds text.\npackage indexer\n\n// Build reads every file once and keeps the words of it.\nfunc Build(root string) error {\n\treturn walkFiles(root)\n}\n")},
	"indexer/walk.go":  {Data: []byte("package indexer\n\n// walkFiles goes through a folder, links left out.\nfunc walkFiles(root string) error {\n\treturn nil\n}\n")},
	"README.md":        {Data: []byte("# Example\n\nThe indexer builds an index of words.\n")},
}

func TestPlannerQuotesPathAndLine(t *testing.T) {
	_, final := pursue(t, newWorld(t, small), reasoning.Request{Goal: "How does the indexer build?", Tools: offered})
	t.Log(final)
}

package planner_test

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/repo"
	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/planner"
)

// offered are the tools of a repository, as an agent would offer them.
var offered = []reasoning.Tool{
	{Name: "context.search", Description: "Full-text search of the repository.", ReadOnly: true,
		InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}`)},
	{Name: "context.read", Description: "Read lines of a file.", ReadOnly: true,
		InputSchema: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"start_line":{"type":"integer"},"end_line":{"type":"integer"}}}`)},
	{Name: "git.status", Description: "The state of the work tree.", ReadOnly: true, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
}

// asked is when the questions are.
var asked = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

// world answers calls over a tree of files: a search that ranks lines by how
// rare the words are that they hold, and a reading of ranges.
type world struct {
	files  map[string][]string
	counts map[string]map[string]int // of words by file
	names  []string
	// real, where it is set, searches instead of search below.
	real func(context.Context, engines.Call, json.RawMessage) (any, error)
}

func newWorld(t *testing.T, tree fs.FS) *world {
	t.Helper()
	w := &world{files: map[string][]string{}, counts: map[string]map[string]int{}}
	require.NoError(t, fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && (base == "node_modules" || base == "testdata" || len(base) > 1 && base[0] == '.') {
			return fs.SkipDir
		}
		if entry.IsDir() || !slices.Contains([]string{".go", ".md", ".rst", ".txt", ".ts", ".js", ".yaml", ".py", ".rs", ".java"}, path.Ext(base)) {
			return nil
		}
		data, err := fs.ReadFile(tree, name)
		w.files[name] = strings.Split(string(data), "\n")
		w.names = append(w.names, name)
		w.counts[name] = map[string]int{}
		for _, each := range partsOf(string(data)) {
			w.counts[name][each]++
		}
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
		if w.real != nil {
			var err error
			result, err = w.real(t.Context(), engines.Call{}, each.Args)
			require.NoError(t, err)
			break
		}
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

// part is a word inside an identifier or a sentence.
var part = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// partsOf splits identifiers at camel case and snake case, as the index does.
func partsOf(text string) (parts []string) {
	for _, each := range part.FindAllString(text, -1) {
		parts = append(parts, strings.TrimSuffix(strings.ToLower(each), "s"))
	}
	return parts
}

// search ranks files as full-text engines do, rare words and frequent mention
// first, and answers the best line of each.
func (w *world) search(query string, limit int) []hit {
	words := partsOf(query)
	weights := map[string]float64{}
	for _, word := range words {
		count := 1
		for _, name := range w.names {
			if w.counts[name][word] > 0 {
				count++
			}
		}
		weights[word] = math.Log(float64(1+len(w.names)) / float64(count))
	}
	var hits []hit
	for _, name := range w.names {
		best := hit{Path: name}
		for _, word := range words {
			frequency := float64(w.counts[name][word])
			best.Score += weights[word] * frequency / (frequency + 1.2)
		}
		bestLine := -1.0
		for i, line := range w.files[name] {
			score := 0.0
			for _, each := range slices.Compact(slices.Sorted(slices.Values(partsOf(line)))) {
				score += weights[each]
			}
			if score > bestLine && best.Score > 0 {
				bestLine, best.Line, best.Snippet = score, i+1, strings.TrimSpace(line)
			}
		}
		if best.Score > 0 {
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
		intent := planner.Plan(request, asked)
		again := planner.Plan(request, asked)
		require.Equal(t, intent, again)
		require.Equal(t, planner.Name, intent.Model)
		if intent.Action == reasoning.ActionFinish || intent.Action == reasoning.ActionError {
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
	if testing.Short() {
		t.Skip("one search of this repository after the other")
	}
	w := newWorld(t, os.DirFS("../.."))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	search := repo.NewSearch(repo.SearchOptions{Path: "../.."})
	defer func() { require.NoError(t, search.Close()) }()
	w.real = search.Tools()[0].Call
	steps, final := pursue(t, w, reasoning.Request{Goal: "Where is the stdio loop and how does it end?", Tools: offered})
	require.Contains(t, final, "engines/mcpio/serve.go:")
	require.LessOrEqual(t, len(steps), 4)
	w.checkQuotes(t, final)
}

// quote is a line of an answer that states something.
var quote = regexp.MustCompile(`(?m)^   > ([^:\n]+):(\d+): (.*)$`)

// checkQuotes holds every quote of an answer against the files.
func (w *world) checkQuotes(t *testing.T, final string) {
	t.Helper()
	quotes := quote.FindAllStringSubmatch(final, -1)
	require.NotEmpty(t, quotes)
	for _, each := range quotes {
		number, err := strconv.Atoi(each[2])
		require.NoError(t, err)
		require.Contains(t, w.files[each[1]][number-1], strings.TrimSuffix(strings.TrimSpace(each[3]), "…"))
	}
}

var small = fstest.MapFS{
	"indexer/index.go": {Data: []byte("// Package indexer finds text.\npackage indexer\n\n// Build reads every file once and keeps the words of it.\nfunc Build(root string) error {\n\treturn walkFiles(root)\n}\n")},
	"indexer/walk.go":  {Data: []byte("package indexer\n\n// walkFiles goes through a folder, links left out.\nfunc walkFiles(root string) error {\n\treturn nil\n}\n")},
	"README.md":        {Data: []byte("# Example\n\nThe indexer builds an index of words.\n")},
}

func TestPlannerQuotesPathAndLine(t *testing.T) {
	w := newWorld(t, small)
	steps, final := pursue(t, w, reasoning.Request{Goal: "How does the indexer build?", Tools: offered})
	require.Contains(t, final, "indexer/index.go:5, Build")
	require.Contains(t, final, "> indexer/index.go:4: // Build reads every file once")
	require.Contains(t, final, "No model was asked")
	require.NotEmpty(t, steps)
	w.checkQuotes(t, final)
}

// TestPlannerReadsTheNewGoalOfAConversation: the words before it are not searched for,
// and what was found for them is no answer.
func TestPlannerReadsTheNewGoalOfAConversation(t *testing.T) {
	const goal = "How does the indexer build?"
	_, alone := pursue(t, newWorld(t, small), reasoning.Request{Goal: goal, Tools: offered})
	_, later := pursue(t, newWorld(t, small), reasoning.Request{Goal: goal + reasoning.EarlierMark + "\n- Asked: Where is the slider?\n  Answered: Not found.", Tools: offered})
	require.Equal(t, alone, later)

	earlier, _ := pursue(t, newWorld(t, small), reasoning.Request{Goal: goal, Tools: offered})
	for i := range earlier {
		earlier[i].Index = 0
	}
	request := reasoning.Request{Goal: "What is a zyxwv?" + reasoning.EarlierMark, Tools: offered}
	request.Memory.Steps = append(earlier, reasoning.Step{Action: reasoning.ActionFinish})
	_, unknown := pursue(t, newWorld(t, small), request)
	require.NotContains(t, unknown, "> ")
}

// Without a tool that reads, the hits themselves are followed and quoted.
func TestPlannerWithoutReading(t *testing.T) {
	w := newWorld(t, small)
	steps, final := pursue(t, w, reasoning.Request{Goal: "How does the indexer build?", Tools: offered[:1]})
	require.NotEmpty(t, steps)
	require.Contains(t, final, "> indexer/index.go:")
	w.checkQuotes(t, final)
}

func TestPlannerAnswersWithinItsSteps(t *testing.T) {
	w := newWorld(t, small)
	for _, goal := range []string{"How does the indexer build?", "zzz", "", "the", "日本語 の 索引", "What is the git status?", strings.Repeat("index ", 1000)} {
		steps, final := pursue(t, w, reasoning.Request{Goal: goal, Tools: offered})
		require.LessOrEqual(t, len(steps), 4, goal)
		require.NotEmpty(t, final)
	}
}

func TestPlannerAsksTheToolsThatAGoalNames(t *testing.T) {
	steps, final := pursue(t, newWorld(t, small), reasoning.Request{Goal: "What is the git status?", Tools: offered[2:]})
	require.Len(t, steps, 1)
	require.Contains(t, final, `From git.status`)
	require.Contains(t, final, `"branch":"main"`)
}

// A search whose schema takes its query under either of two names requires
// neither, and is of no use without both.
func TestPlannerNeverSearchesForNothing(t *testing.T) {
	search := offered[0]
	search.InputSchema = json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"q":{"type":"string"}}}`)
	steps, _ := pursue(t, newWorld(t, small), reasoning.Request{Goal: "How does a search build the index?", Tools: []reasoning.Tool{search, offered[1]}})
	for _, step := range steps {
		for _, each := range step.Outcomes {
			require.NotEqual(t, "{}", string(each.Args), each.ToolName)
		}
	}
}

func TestPlannerWithoutToolsSaysSo(t *testing.T) {
	for _, c := range []struct {
		request reasoning.Request
		text    string
	}{
		{reasoning.Request{Goal: "Where is the loop?"}, "I cannot search"},
		{reasoning.Request{Goal: "Where is the loop?", Tools: offered, Policy: reasoning.Policy{NoTools: true}}, "No tool may be called"},
		{reasoning.Request{Goal: "Where is the loop?", Tools: offered, Policy: reasoning.Policy{MustFinish: true}}, "I did not get to look"},
		{reasoning.Request{Goal: "Where is the loop?", Tools: offered, Limits: reasoning.Limits{StepsLeft: 1}}, "I did not get to look"},
	} {
		steps, final := pursue(t, newWorld(t, small), c.request)
		require.Empty(t, steps)
		require.Contains(t, final, c.text)
	}
}

func TestPlannerSurvivesWhatToolsAnswer(t *testing.T) {
	for name, outcome := range map[string]reasoning.Outcome{
		"an error":  {Error: fault.New(fault.ToolFailed, "it took too long")},
		"no rows":   {Result: json.RawMessage(`{"rows":[]}`)},
		"cut":       {Result: json.RawMessage(`"{\"rows\":[{\"pa"`), Cut: true},
		"a list":    {Result: json.RawMessage(`[1]`)},
		"odd rows":  {Result: json.RawMessage(`{"rows":[{"path":"","line":-5},{"path":"a","line":-5,"snippet":"loop"}]}`)},
		"odd lines": {Result: json.RawMessage(`{"path":"a.go","start_line":-3,"text":""}`)},
		"nothing":   {},
	} {
		t.Run(name, func(t *testing.T) {
			request := reasoning.Request{Goal: "Where is the loop?", Tools: offered}
			for request.Step = 1; ; request.Step++ {
				require.Less(t, request.Step, 10)
				intent := planner.Plan(request, asked)
				if intent.Action == reasoning.ActionFinish || intent.Action == reasoning.ActionError {
					require.NotEmpty(t, intent.Final)
					return
				}
				step := reasoning.Step{Index: request.Step, Action: intent.Action}
				for _, each := range intent.AllCalls() {
					outcome.ToolName, outcome.Args = each.ToolName, each.Args
					step.Outcomes = append(step.Outcomes, outcome)
				}
				request.Memory.Steps = append(request.Memory.Steps, step)
				request.LastOutput = step.Outcomes
			}
		})
	}
}

// What memory cut is used as far as it is whole.
func TestPlannerReadsTheBeginningOfWhatWasCut(t *testing.T) {
	cut := func(tool, args, beginning string) reasoning.Outcome {
		text, err := json.Marshal(beginning + "…")
		require.NoError(t, err)
		return reasoning.Outcome{ToolName: tool, Args: json.RawMessage(args), Result: text, Cut: true}
	}
	steps := []reasoning.Step{
		{Index: 1, Action: reasoning.ActionTool, Outcomes: []reasoning.Outcome{cut("context.search", `{"query":"loop"}`, `{"rows":[{"path":"a.go","line":7,"snippet":"the loop"},{"path":"b`)}},
		{Index: 2, Action: reasoning.ActionTool, Outcomes: []reasoning.Outcome{cut("context.read", `{"path":"a.go","start_line":7}`, `{"path":"a.go","text":"func loop() {\n\tprint(\"a\\n\")\n\treturn \"b\\nc`)}},
	}
	intent := planner.Plan(reasoning.Request{Goal: "Where is the loop?", Step: 3, Tools: offered, Memory: reasoning.Memory{Steps: steps},
		Limits: reasoning.Limits{StepsLeft: 1}}, asked)
	require.Contains(t, intent.Final, "> a.go:7: func loop() {")
	require.NotContains(t, intent.Final, "cannot be read")
}

func TestPlannerKeepsToTheNumberOfCalls(t *testing.T) {
	intent := planner.Plan(reasoning.Request{Goal: "Where is the stdio loop?", Tools: offered, Limits: reasoning.Limits{MaxCalls: 1}}, asked)
	require.Equal(t, "context.search", intent.ToolName)
	require.JSONEq(t, `{"query":"stdio loop","limit":30}`, string(intent.Args))
}

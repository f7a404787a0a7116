package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"savant/think"
	"savant/think/library"
	"savant/think/state"
)

// hardFiles are workflows whose runs are hard to show: long loops, large values, texts of
// other scripts.
var hardFiles = map[string]string{
	"workflows/loops.yaml": "name: loops\nversion: \"1\"\nlimits: {items: 1000, steps: 2000}\nsteps:\n  - {id: list, call: flow.set, input_template: {value: [" + strings.TrimSuffix(strings.Repeat("1, ", 300), ", ") + "]}, capture_as: list}\n" +
		"  - {id: each, foreach: list, as: one, call: flow.set, input_template: {value: \"{{ one }}\"}, capture_as: all}\n  - {id: sum, call: flow.set, input_template: {value: \"{{ len(all) }}\"}}\n",
	"workflows/asks.yaml": "name: asks\nversion: \"1\"\nparams: {text: {type: string, default: \"Ship the new pages to everybody?\"}}\nsteps:\n" +
		"  - {id: look, call: flow.set, input_template: {value: 3}, capture_as: found}\n  - {id: sure, call: human.approve, input_template: {message: \"{{ params.text }}\", found: \"{{ found }}\"}, remind_after: 1h, escalate_after: 24h}\n" +
		"  - {id: ship, call: flow.set, deps: [sure], input_template: {value: shipped}}\n",
	"workflows/large.yaml": "name: large\nversion: \"1\"\nparams: {text: {type: string, required: true}}\nsteps:\n  - {id: keep, call: flow.set, input_template: {value: \"{{ params.text }}\"}, capture_as: kept}\n" +
		"  - {id: sure, call: human.approve, input_template: {message: \"Keep all of it?\", whole: \"{{ kept }}\"}}\n",
	"workflows/scripts.yaml": "name: scripts\nversion: \"1\"\ndescription: \"فحص الوثائق 检查文件 文書の確認 עברית\"\nsteps:\n" +
		"  - {id: words, call: flow.set, input_template: {value: {عنوان: \"تقرير عن حالة النظام (12 ملفًا)\", 标题: \"系统状态报告，没有空格的长句子需要在任意字符处换行以便完整显示而不超出页面的宽度\", 題名: \"障害報告書\"}}, capture_as: words}\n" +
		"  - {id: ask, call: human.ask, input_template: {message: \"هل تريد المتابعة؟\\n继续吗？ 続けますか？\", schema: {type: object, properties: {答案: {type: string, title: \"回答 / إجابة\"}}}}}\n",
	"rules/private.yaml":         "rules:\n  - {id: trees_are_private, before: context.tree, deny: true, message: \"Trees are private.\"}\n",
	"workflows/looks.yaml":       "name: looks\nversion: \"1\"\nsteps:\n  - {id: look, call: context.tree, on_failure: continue, capture_as: look}\n  - {id: say, when: \"look != null\", call: flow.set, input_template: {value: 1}}\n",
	"workflows/looks.cases.yaml": "workflow: looks\ncases:\n  - name: looked\n    answers: {look: {entries: []}}\n    expect: {outcome: done}\n",
}

// hardRuns makes runs that are hard to show in a folder of runs.
func hardRuns(t testing.TB, folder string) {
	t.Helper()
	writeHard(t, folder)
	savantIn(t, folder, "workflows", "run", "loops", "--name", "loop300")
	savantIn(t, folder, "workflows", "run", "scripts", "--name", "scripts")
	savantIn(t, folder, "workflows", "run", "looks", "--name", "refused")
	savantIn(t, folder, "workflows", "run", "asks", "--name", "a_name_of_sixty_four_letters_that_does_not_fit_anywhere_at_all_ok")
	params := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(params, []byte(`{"text":"`+strings.Repeat("one line of a large text\\n", 40_000)+`"}`), 0o600))
	savantIn(t, folder, "workflows", "run", "large", "--name", "megabyte", "--params", "@"+params)
	oldRuns(t, folder, time.Now().Add(-49*time.Hour))
	longAgent(t, folder, 1000)
}

// writeHard writes their workflows.
func writeHard(t testing.TB, folder string) {
	t.Helper()
	for name, text := range hardFiles {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
}

// oldRuns makes a run that waits for a person since a time, and one that was declined then.
func oldRuns(t testing.TB, folder string, since time.Time) {
	t.Helper()
	clock := func() time.Time { since = since.Add(time.Second); return since }
	store, err := state.Open(folder, state.Options{Now: clock})
	require.NoError(t, err)
	defer store.Close()
	engine := think.New(think.Options{Library: library.New(library.Layer{Files: os.DirFS(folder), Folder: folder, Origin: library.Project}), Store: store, Imports: store, Now: clock})
	defer engine.Close()
	for _, run := range []string{"declined", "two-days"} {
		_, err = engine.Plan(t.Context(), think.PlanInput{Workflow: "asks", RunID: run})
		require.NoError(t, err)
	}
	asked, err := engine.Pending(t.Context(), "asks", "declined")
	require.NoError(t, err)
	require.Len(t, asked, 1)
	_, err = engine.Approve(t.Context(), asked[0], map[string]any{"approved": false, "comment": "Not before the tests pass on Windows."}, think.Caller{Name: "anna", Client: think.ByHub})
	require.NoError(t, err)
}

// longAgent makes a run of the agent with many steps.
func longAgent(t testing.TB, folder string, steps int64) {
	t.Helper()
	asked := atomic.Int64{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if line := asked.Add(1); line < steps {
			fmt.Fprintf(w, `{"action":"tool","tool_name":"context.read","args":{"path":"workflows/loops.yaml","start_line":%d,"end_line":%d},"reasoning":"The next lines are needed."}`, line%5+1, line%5+3)
			return
		}
		_, _ = io.WriteString(w, `{"action":"finish","final":"All lines were read."}`)
	}))
	defer api.Close()
	command := exec.CommandContext(t.Context(), "savant", "run", "--quiet", "--name", "thousand", "--skip-git", "--max-steps", fmt.Sprint(steps), "Read all lines of the file, one after the other.", "--path", folder)
	command.Env = append(os.Environ(), "REASONING_API_URL="+api.URL, "LOG_LEVEL=error")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
}

// hardPages are their pages, by the name of their picture.
func hardPages() map[string]string {
	return map[string]string{
		"hard-loop": "/runs/loops/loop300", "hard-loop-item": "/runs/loops/loop300?step=each_250", "hard-declined": "/runs/asks/declined", "hard-scripts": "/runs/scripts/scripts", "hard-megabyte": "/runs/large/megabyte",
		"hard-two-days": "/runs/asks/two-days", "hard-name": "/runs/asks/a_name_of_sixty_four_letters_that_does_not_fit_anywhere_at_all_ok", "hard-refused": "/runs/looks/refused", "hard-inbox": "/", "hard-runs": "/runs", "hard-rules": "/rules",
		"hard-cases": "/workflows/looks", "hard-agent": "/diagnostics/agents/thousand", "hard-timeline": "/diagnostics/agents/thousand?view=timeline", "hard-numbers": "/numbers", "hard-compare": "/compare?left=asks%2Fdeclined&right=asks%2Ftwo-days",
	}
}

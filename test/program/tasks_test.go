package program

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pollsTasks returns how a client that takes tasks and has forms sends a request, and calls a
// tool.
func pollsTasks(t *testing.T, s *server) (ask, call func(string, map[string]any) map[string]any) {
	return hasForms(t, s, map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}})
}

// hasForms is pollsTasks for a client with these extensions.
func hasForms(t *testing.T, s *server, extensions map[string]any) (ask, call func(string, map[string]any) map[string]any) {
	number := 0
	ask = func(method string, params map[string]any) map[string]any {
		number++
		params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}, "extensions": extensions}}
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": number, "method": method, "params": params})
		require.NoError(t, err)
		_, err = fmt.Fprintf(s.stdin, "%s\n", text)
		require.NoError(t, err)
		for s.lines.Scan() {
			var got struct {
				ID            int `json:"id"`
				Result, Error map[string]any
			}
			if json.Unmarshal(s.lines.Bytes(), &got) == nil && got.ID == number {
				if got.Error != nil {
					return got.Error
				}
				return got.Result
			}
		}
		require.Fail(t, "the server has ended")
		return nil
	}
	return ask, func(tool string, args map[string]any) map[string]any {
		return ask("tools/call", map[string]any{"name": tool, "arguments": args})
	}
}

// TestATaskCanceledAfterItsEffect has a command write a file and go on; the client cancels
// it. The call counts as done for a rule that allows it once, and as not done for one that
// requires it.
func TestATaskCanceledAfterItsEffect(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, exec.Command("git", "init", "-q", folder).Run())
	places(t, folder, ".savant/ci.yaml", "commands:\n  pay: {command: [sh, -c, 'echo paid >>effect; sleep 60']}\n")
	places(t, folder, "rules/few.yaml", "evidence:\n  paid: {last: ci.run}\nrules:\n  - {id: once, before: ci.run, once: input.name}\n"+
		"  - {id: after, before: git.status, require: [{needs: paid}]}\n")
	trusts(t, folder)
	ask, call := pollsTasks(t, serveIn(t, folder))
	made := call("ci_run", map[string]any{"name": "pay"})
	require.Equal(t, "task", made["resultType"], made)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(folder, "effect")); return err == nil }, hang, 10*time.Millisecond)
	ask("tasks/cancel", map[string]any{"taskId": made["taskId"]})
	require.Eventually(t, func() bool {
		return ask("tasks/get", map[string]any{"taskId": made["taskId"]})["status"] == "cancelled"
	}, hang, 10*time.Millisecond)
	for tool, rule := range map[string]string{"ci_run": "Rule once", "git_status": "Rule after"} {
		said := fmt.Sprint(call(tool, map[string]map[string]any{"ci_run": {"name": "pay"}, "git_status": {}}[tool]))
		require.Contains(t, said, "RULE_REFUSED", tool)
		require.Contains(t, said, rule)
	}
	paid, err := os.ReadFile(filepath.Join(folder, "effect"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(paid), "paid"))
}

// TestACallCanceledAfterItsEffect is the same for a client that waits for the call, and cancels it.
func TestACallCanceledAfterItsEffect(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	places(t, folder, ".savant/ci.yaml", "commands:\n  pay: {command: [sh, -c, 'echo paid >>effect; sleep 60']}\n")
	places(t, folder, "rules/few.yaml", "rules: [{id: once, before: ci.run, once: input.name}]\n")
	trusts(t, folder)
	h := newAppHost(t, folder, `{}`, "MCP_SERVICE=ci")
	h.say(`{"jsonrpc":"2.0","id":"pay","method":"tools/call","params":{"name":"ci_run","arguments":{"name":"pay"}}}`)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(folder, "effect")); return err == nil }, hang, 10*time.Millisecond)
	h.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"pay"}}`)
	require.Eventually(t, func() bool {
		said := h.call("ci_run", map[string]any{"name": "pay"})
		return !strings.Contains(said, "ENGINE_BUSY") && strings.Contains(said, "RULE_REFUSED")
	}, hang, 10*time.Millisecond)
}

// TestAPersonAnswersATask: the question of a step is the task's, and the answer moves the run
// on once; a person declines; the client cancels, and the question waits elsewhere.
func TestAPersonAnswersATask(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	places(t, folder, ".savant/ci.yaml", "commands:\n  build: {command: [sleep, \"1\"]}\n")
	places(t, folder, "workflows/release.yaml", `name: release
version: "1.0"
steps:
  - {id: build, call: ci.run, input_template: {name: build}}
  - {id: agree, call: human.approve, input_template: {message: "Release it?"}, capture_as: agreed}
  - {id: tag, call: llm.generate, input_template: {task: Tag it.}}
`)
	trusts(t, folder)
	ask, call := pollsTasks(t, serveIn(t, folder, "MCP_SERVICE=workflow"))
	waits := func(run string) (task map[string]any, question string) {
		made := call("workflow_workflow_run", map[string]any{"workflow": "release", "run_id": run})
		require.Equal(t, "task", made["resultType"], made)
		require.Eventually(t, func() bool {
			task = ask("tasks/get", map[string]any{"taskId": made["taskId"]})
			return task["status"] == "input_required"
		}, hang, 10*time.Millisecond)
		for question = range task["inputRequests"].(map[string]any) {
			require.Contains(t, fmt.Sprint(task["inputRequests"]), "Release it?")
		}
		return made, question
	}
	ends := func(task map[string]any, status string) map[string]any {
		var at map[string]any
		require.Eventually(t, func() bool {
			at = ask("tasks/get", map[string]any{"taskId": task["taskId"]})
			return at["status"] == status
		}, hang, 10*time.Millisecond, "%v", at)
		return at
	}
	answers := func(task map[string]any, question string, answer map[string]any) {
		ask("tasks/update", map[string]any{"taskId": task["taskId"], "inputResponses": map[string]any{question: answer}})
	}
	yes := map[string]any{"action": "accept", "content": map[string]any{"approved": true}}

	task, question := waits("r1")
	answers(task, "another", yes)
	require.Equal(t, "input_required", ask("tasks/get", map[string]any{"taskId": task["taskId"]})["status"])
	answers(task, question, yes)
	require.Contains(t, fmt.Sprint(ends(task, "completed")["result"]), "step_id:tag")
	answers(task, question, yes) // nothing waits
	out, err := exec.Command("savant", "state", "history", "r1", "--path", folder).Output()
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(out), "agree"), string(out))

	task, question = waits("r2")
	answers(task, question, map[string]any{"action": "accept", "content": map[string]any{"approved": false, "comment": "not today"}})
	require.Contains(t, fmt.Sprint(ends(task, "completed")["result"]), "not today")

	task, _ = waits("r3")
	ask("tasks/cancel", map[string]any{"taskId": task["taskId"]})
	require.Nil(t, ends(task, "cancelled")["result"])
	out, err = exec.Command("savant", "show", "r3", "--path", folder).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "waiting")
}

// TestATaskWhoseQuestionIsAnsweredElsewhere asks it no more, and works again.
func TestATaskWhoseQuestionIsAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	places(t, folder, ".savant/ci.yaml", "commands:\n  begin: {command: [sleep, \"1\"]}\n  build: {command: [sh, -c, 'for i in $(seq 400); do test -e go && exit; sleep 0.05; done; exit 1']}\n")
	places(t, folder, "workflows/release.yaml", `name: release
version: "1.0"
steps:
  - {id: begin, call: ci.run, input_template: {name: begin}}
  - {id: agree, call: human.approve, input_template: {message: "Release it?"}}
  - {id: build, call: ci.run, input_template: {name: build}}
`)
	trusts(t, folder)
	ask, call := pollsTasks(t, serveIn(t, folder, "MCP_SERVICE=workflow"))
	made := call("workflow_workflow_run", map[string]any{"workflow": "release", "run_id": "r1"})
	stands := func(status string) (task map[string]any) {
		require.Eventually(t, func() bool {
			task = ask("tasks/get", map[string]any{"taskId": made["taskId"]})
			return task["status"] == status
		}, hang, 10*time.Millisecond, status)
		return task
	}
	stands("input_required")
	elsewhere, _ := hasForms(t, serveIn(t, folder), nil)
	answers := map[string]any{"name": "think_next", "arguments": map[string]any{"run_id": "r1", "step_id": "agree"}}
	answers["requestState"] = elsewhere("tools/call", answers)["requestState"]
	answers["inputResponses"] = map[string]any{"question": map[string]any{"action": "accept", "content": map[string]any{"approved": true}}}
	elsewhere("tools/call", answers)
	require.Nil(t, stands("working")["inputRequests"])
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go"), nil, 0o600))
	require.Contains(t, fmt.Sprint(stands("completed")["result"]), "status:done")
}

// TestATaskEndsWithItsServer: another server does not know the task, and says which run goes on
// and how; nothing goes on by itself.
func TestATaskEndsWithItsServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	places(t, folder, ".savant/ci.yaml", "commands:\n  build: {command: [sh, -c, 'for i in $(seq 400); do test -e go && exit; sleep 0.05; done; exit 1']}\n")
	places(t, folder, "workflows/builds.yaml", "name: builds\nversion: \"1.0\"\nsteps: [{id: build, call: ci.run, input_template: {name: build}}]\n")
	trusts(t, folder)
	first := serveIn(t, folder, "MCP_SERVICE=workflow,ci")
	ask, call := pollsTasks(t, first)
	command, id, run := call("ci_run", map[string]any{"name": "build"}), "", map[string]any{}
	require.Eventually(t, func() bool { // a task of a run that began too late for its id, on a busy machine, does not name it
		id += "r"
		run = call("workflow_workflow_run", map[string]any{"workflow": "builds", "run_id": id})
		return strings.HasSuffix(fmt.Sprint(run["taskId"]), "~"+id)
	}, hang, time.Millisecond)
	require.Equal(t, "working", ask("tasks/get", map[string]any{"taskId": run["taskId"]})["status"])
	require.NoError(t, first.command.Process.Kill())
	_ = first.wait(t)

	ask, call = pollsTasks(t, serveIn(t, folder, "MCP_SERVICE=workflow,ci"))
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		said := fmt.Sprint(ask(method, map[string]any{"taskId": run["taskId"], "inputResponses": map[string]any{}}))
		require.Contains(t, said, "INVALID_PARAMS")
		require.Contains(t, said, `run `+id+` is kept: to go on with it, call workflow_workflow_run {"run_id": "`+id+`"}`, method)
	}
	require.Contains(t, fmt.Sprint(ask("tasks/get", map[string]any{"taskId": command["taskId"]})), "find out what ci_run did before you call it again")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go"), nil, 0o600))
	require.Eventually(t, func() bool {
		return strings.Contains(fmt.Sprint(call("workflow_workflow_run", map[string]any{"run_id": id})), id)
	}, hang, 10*time.Millisecond)
}

// TestAnAnswerOutlivesItsServer: a client on stdin repeats its call, with what its user answered,
// to the server that it started anew. No second run begins.
func TestAnAnswerOutlivesItsServer(t *testing.T) {
	t.Parallel()
	folder, configuration := shipsIn(t), "XDG_CONFIG_HOME="+t.TempDir()
	first := serveIn(t, folder, configuration)
	_, call := hasForms(t, first, nil) // one that takes tasks gets one from a slow server
	_, err := os.Stat(strings.TrimPrefix(configuration, "XDG_CONFIG_HOME=") + "/savant/questions")
	require.ErrorIs(t, err, fs.ErrNotExist, "nothing was asked yet")
	asked := call("think_plan", map[string]any{"workflow": "ships"})
	require.Equal(t, "input_required", asked["resultType"])
	require.NoError(t, first.command.Process.Kill())
	_ = first.wait(t)
	retry := func(configuration string) map[string]any {
		ask, _ := hasForms(t, serveIn(t, folder, configuration), nil)
		return ask("tools/call", map[string]any{"name": "think_plan", "arguments": map[string]any{"workflow": "ships"}, "requestState": asked["requestState"],
			"inputResponses": map[string]any{"question": map[string]any{"action": "accept", "content": map[string]any{"approved": true}}}})
	}
	broken := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(broken, nil, 0o600))
	for _, other := range []string{t.TempDir(), broken, folder} {
		require.Contains(t, fmt.Sprint(retry("XDG_CONFIG_HOME="+other)), "Ship it?", "these notes do not have the question")
	}
	require.Contains(t, fmt.Sprint(retry(configuration)), "Where to?")
	require.NotContains(t, fmt.Sprint(retry(configuration)), "isError:true")
	runs, err := filepath.Glob(filepath.Join(folder, ".savant", "state", "ships", "*.journal"))
	require.NoError(t, err)
	require.Len(t, runs, 1)
}

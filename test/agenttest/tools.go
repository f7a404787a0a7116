package agenttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/telemetry"
)

// Shown is the part of an event that a transcript shows. It omits what differs between
// two runs of a scenario.
func Shown(e telemetry.Event) string {
	var out strings.Builder
	fmt.Fprintf(&out, "  %s %d", e.Type, e.Step)
	for _, each := range []string{e.Action, e.ToolName, string(e.Args), e.Status} {
		if each != "" {
			out.WriteString(" " + each)
		}
	}
	if e.Error != nil {
		out.WriteString(" " + e.Error.Code)
	}
	for _, name := range []string{"rule", "persona", "amr_rules_triggered", "final", "warning", "note", "summarized"} {
		if value := e.Metadata[name]; value != nil && fmt.Sprint(value) != "" && fmt.Sprint(value) != "[]" && fmt.Sprint(value) != "0" {
			fmt.Fprintf(&out, " %s=%q", name, fmt.Sprint(value))
		}
	}
	return out.String()
}

// in is the input of the tools.
type in struct {
	Text string `json:"text,omitempty"`
	Size int    `json:"size,omitempty"`
}

// Tools are the tools of a scenario. A tool that fails once marks that with a file in
// the folder. test.ignore ignores its context.
func Tools(folder string) []engines.Tool {
	say := func(name string, f func(context.Context, in) (any, error)) engines.Tool {
		return engines.Bind(name, "A tool of the tests.", f)
	}
	echo := func(_ context.Context, given in) (any, error) {
		return map[string]any{"text": given.Text + strings.Repeat("x", given.Size)}, nil
	}
	readOnly := func(tool engines.Tool) engines.Tool { tool.ReadOnly, tool.Idempotent = true, true; return tool }
	write := func(_ context.Context, given in) (any, error) {
		file, err := os.OpenFile(filepath.Join(folder, "written"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		_, err = file.WriteString(given.Text + "\n")
		return map[string]any{"written": given.Text}, err
	}
	flaky := func(_ context.Context, given in) (any, error) {
		name := filepath.Join(folder, "flaky")
		if _, err := os.Stat(name); err == nil {
			return map[string]any{"text": given.Text}, nil
		}
		return nil, fmt.Errorf("%w", fault.New(fault.ToolFailed, "not yet; %v", os.WriteFile(name, nil, 0o600)))
	}
	hang := func(ctx context.Context, _ in) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
	ignores := func(context.Context, in) (any, error) { select {} } // ends with its process
	fails := func(context.Context, in) (any, error) { return nil, fault.New(fault.ToolFailed, "it always fails") }
	leak := func(context.Context, in) (any, error) {
		return map[string]any{"text": "the key is planted-secret-value", "password": "hunter2"}, nil
	}
	workflow := engines.Bind("workflow.workflow_run", "Runs a workflow.", func(_ context.Context, given struct {
		Workflow string         `json:"workflow"`
		Params   map[string]any `json:"params,omitempty"`
		WaitMS   int            `json:"wait_ms,omitempty"`
	}) (any, error) {
		outcome := map[string]any{"status": "done", "run_id": "w1", "workflow": given.Workflow, "summary": "ran " + given.Workflow}
		switch given.Workflow {
		case "review_v1":
			outcome["status"], outcome["pending"] = "pending", map[string]any{"step_id": "judge", "for": "model", "why": "A model has to answer."}
		case "fails_v1":
			outcome["status"], outcome["failed"] = "failed", []any{map[string]any{"step": "a", "code": "TOOL_FAILED", "details": "it broke"}}
		case "blocked_v1":
			outcome["status"], outcome["error"] = "blocked", map[string]any{"error": "EXPRESSION_ERROR", "details": "workflows/blocked_v1.yaml:9:3: no boolean"}
		case "review_local":
			return nil, fault.New(fault.InvalidParams, "params.pr: required")
		case "damaged_v1":
			return nil, fault.New(fault.YAMLSchemaViolation, "workflows/damaged_v1.yaml:1:1: not a workflow")
		}
		return outcome, nil
	})
	workflow.Destructive, workflow.OpenWorld = true, true
	destroy := say("test.destroy", write)
	destroy.Destructive = true
	outside := readOnly(say("net.fetch", echo))
	outside.OpenWorld = true
	return []engines.Tool{readOnly(say("test.read", echo)), say("test.write", write), readOnly(say("test.flaky", flaky)), readOnly(say("test.hang", hang)), readOnly(say("test.ignore", ignores)),
		say("test.fail", fails), readOnly(say("test.leak", leak)), destroy, outside, readOnly(say("context.fts_search", echo)), readOnly(say("context.read", echo)),
		readOnly(say("think.plan", echo)), say("agent.run", echo), workflow}
}

package guide

import (
	"context"
	"encoding/json"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
)

// aliases are names that models use for the arguments of Think's tools.
var aliases = engines.Aliases{
	"workflow":        {"workflowname", "workflowid", "name", "flow", "file"},
	"params":          {"param", "parameters", "args", "arguments", "inputs", "input", "variables"},
	"run_id":          {"run", "id", "runname", "workflowrunid"},
	"step_id":         {"step", "id", "stepname", "currentstep"},
	"result_snapshot": {"result", "results", "output", "outputs", "response", "answer", "value", "snapshot", "data", "content", "text", "json", "payload", "stepresult", "toolresult", "resultjson", "structuredcontent"},
	"result_ref":      {"receipt", "receiptid", "resultreceipt", "ref", "resultreference"},
	"attempt":         {"attemptnumber", "attemptno"},
	"checkpoint":      {"to", "version", "target", "step", "stepid", "name", "tostep", "fromstep", "tocheckpoint"},
	"save":            {"saveas", "savecheckpoint"},
	"force":           {"forced"},
	"var":             {"capture", "variable", "name", "key"},
	"artifact":        {"sha256", "digest"},
	"ref":             {"artifact", "reference", "uri", "sha256", "digest"},
	"filter":          {"query", "search"},
	"workflow_yaml":   {"yaml", "source", "workflowtext"},
	"action":          {"mode", "command"},
	"from_step":       {"from", "step", "stepid", "checkpoint", "version"},
	"to_step":         {"to"},
	"new_run_id":      {"newrun", "newid"},
}

// withAliases refuses arguments that were probably meant as another one of the tool.
func withAliases(t *engines.Tool) {
	input := t.Input
	t.Stray = func(declared, stray map[string]json.RawMessage) error {
		own := engines.Aliases{}
		for name := range jsonvalue.Members(member(input, "properties")) {
			own[name] = aliases[name]
		}
		if err := own.Stray(declared, stray); err != nil || own["result_snapshot"] == nil {
			return err
		}
		return strayFailure(stray)
	}
}

// strayFailure refuses isError beside the result: the result would be taken for a
// success.
func strayFailure(stray map[string]json.RawMessage) error {
	for _, name := range []string{"isError", "is_error", "iserror"} {
		if string(stray[name]) == "true" {
			return fault.New(fault.InvalidParams, `%s belongs in the result: send result_snapshot as {"isError": true, "content": [{"type": "text", "text": …}]}`, name).
				With(fault.Diagnostic{Path: name, Message: "not an argument", Expected: "result_snapshot.isError"})
		}
	}
	return nil
}

func member(object json.RawMessage, wanted string) json.RawMessage {
	for name, value := range jsonvalue.Members(object) {
		if name == wanted {
			return value
		}
	}
	return nil
}

// withParams refuses workflow parameters that were sent beside params.
func withParams(e *think.Engine) func(*engines.Tool) {
	return func(t *engines.Tool) {
		others := t.Stray
		t.Stray = func(declared, stray map[string]json.RawMessage) error {
			if err := e.StrayParams(declared, stray); err != nil {
				return err
			}
			return others(declared, stray)
		}
	}
}

// withInstruction repeats the instruction that waits where arguments are refused.
func withInstruction(e *think.Engine) func(*engines.Tool) {
	return func(t *engines.Tool) {
		t.Advise = func(ctx context.Context, call engines.Call, sent map[string]json.RawMessage, refused error) error {
			text := func(name string) (value string) {
				if jsonvalue.Unmarshal(sent[name], &value) != nil {
					return ""
				}
				return value
			}
			return e.Waits(ctx, think.NextInput{Workflow: text("workflow"), RunID: text("run_id"), StepID: text("step_id"), Caller: Caller(call)}, refused)
		}
	}
}

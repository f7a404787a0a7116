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

// judge judges the arguments of Think's tools.
type judge struct {
	think *think.Engine
	tool  engines.Tool
	// params: the tool starts a workflow, whose parameters may stand beside params.
	// waiting: the instruction that waits is repeated where arguments are refused.
	params, waiting bool
}

// own are the arguments of the tool, with the names that models use for them.
func (j judge) own() engines.Aliases {
	own := engines.Aliases{}
	for name := range jsonvalue.Members(jsonvalue.Member(j.tool.InputSchema(), "properties")) {
		own[name] = aliases[name]
	}
	return own
}

// ParamsJudge refuses arguments of a tool that starts a workflow, where they were
// probably meant as another argument or as a parameter of the workflow.
func ParamsJudge(e *think.Engine, tool engines.Tool) engines.Judge {
	return judge{think: e, tool: tool, params: true}
}

// Stray refuses arguments that were probably meant as another one of the tool.
func (j judge) Stray(declared, stray map[string]json.RawMessage) error {
	if j.params {
		if err := j.think.StrayParams(declared, stray); err != nil {
			return err
		}
	}
	own := j.own()
	if err := own.Stray(declared, stray); err != nil || own["result_snapshot"] == nil {
		return err
	}
	return strayFailure(stray)
}

// Advise repeats the instruction that waits.
func (j judge) Advise(ctx context.Context, call engines.Call, sent map[string]json.RawMessage, refused error) error {
	if !j.waiting {
		return refused
	}
	text := func(name string) (value string) {
		if jsonvalue.Unmarshal(sent[name], &value) != nil {
			return ""
		}
		return value
	}
	return j.think.Waits(ctx, think.NextInput{Workflow: text("workflow"), RunID: text("run_id"), StepID: text("step_id"), Caller: Caller(call)}, refused)
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

package gate_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/fault"
	"savant/think/gate"
)

var own = gate.Own{Prefixes: []string{"mcp__savant__"}, Tools: []gate.Tool{{Name: "context.memory_write"}, {Name: "git.log", ReadOnly: true},
	{Name: "git.status", ReadOnly: true}, {Name: "think.state.get", ReadOnly: true}}}

func issued(step, call, input string) gate.Issued {
	return gate.Issued{Step: step, Call: call, Input: json.RawMessage(input)}
}

func allowing(tools ...string) gate.Issued {
	return gate.Issued{Step: "write", Call: "llm.generate", Input: json.RawMessage(`{"task":"t"}`), Allow: &tools}
}

func open(status string, steps ...gate.Issued) gate.Run {
	return gate.Run{Workflow: "tour", ID: "r1", Status: status, Issued: steps, Progress: 1}
}

func call(client, tool, input string, paths ...string) gate.Event {
	return gate.Event{Client: client, Session: "s", Kind: gate.BeforeTool, Project: "/project", Tool: tool, Input: json.RawMessage(input), Paths: paths}
}

func TestWhatPasses(t *testing.T) {
	status := open("running", issued("status", "git.status", `{"repo":".","limit":3}`))
	answering := open("running", gate.Issued{Step: "write", Call: "llm.generate", Input: json.RawMessage(`{"task":"t"}`)})
	asking := open("waiting", issued("ok", "human.approve", `{"message":"Go on?"}`))
	both := open("running", issued("a", "git.status", `{}`), issued("b", "github.pull_request_read", `{"n":1}`))
	lost := issued("s", "bank.pay", `{}`)
	lost.Outcome = "unknown"
	for name, c := range map[string]struct {
		run   gate.Run
		event gate.Event
		why   string // "" passes
	}{
		"the issued call":                    {status, call("claude-code", "mcp__savant__git_status", `{"limit":3,"repo":"."}`), ""},
		"a number written otherwise":         {status, call("claude-code", "mcp__savant__git_status", `{"limit":3.0,"repo":"."}`), ""},
		"input as text":                      {status, call("claude-code", "mcp__savant__git_status", `"{\"limit\":3,\"repo\":\".\"}"`), ""},
		"what a client adds":                 {status, call("cline", "savant__git_status", `{"limit":3,"repo":".","task_progress":"1/3"}`), gate.NotIssued},
		"another input":                      {status, call("claude-code", "mcp__savant__git_status", `{"limit":4,"repo":"."}`), gate.OtherInput},
		"less input":                         {status, call("claude-code", "mcp__savant__git_status", `{}`), gate.OtherInput},
		"no object":                          {status, call("claude-code", "mcp__savant__git_status", `[]`), gate.OtherInput},
		"a shell":                            {status, call("claude-code", "Bash", `{"command":"git status"}`), gate.NotIssued},
		"reading at a tool's step":           {status, call("claude-code", "Read", `{"file_path":"/project/a"}`, "/project/a"), gate.NotIssued},
		"the same tool of another server":    {status, call("claude-code", "mcp__evil__git_status", `{"limit":3,"repo":"."}`), gate.NotIssued},
		"a name that ends alike":             {status, call("claude-code", "not_git_status", `{"limit":3,"repo":"."}`), gate.NotIssued},
		"think":                              {status, call("claude-code", "mcp__savant__think_next", `{}`), ""},
		"think with dots":                    {status, call("claude-code", "mcp__savant__think.state.get", `{}`), ""},
		"think of another server":            {status, call("claude-code", "mcp__evil__think_next", `{}`), gate.NotIssued},
		"a tool that Think lacks":            {status, call("claude-code", "mcp__savant__think_hook", `{}`), gate.NotIssued},
		"a reset to a checkpoint":            {status, call("claude-code", "mcp__savant__think_reset", `{"checkpoint":"start"}`), ""},
		"a checkpoint":                       {status, call("claude-code", "mcp__savant__think_reset", `{"save":"x"}`), ""},
		"a run moved to the trash":           {status, call("claude-code", "mcp__savant__think_reset", `{"force":true}`), gate.RunDiscarded},
		"the search for tools":               {status, call("claude-code", "ToolSearch", `{}`), ""},
		"another client's search":            {status, call("opencode", "ToolSearch", `{}`), gate.NotIssued},
		"the second of two":                  {both, call("claude-code", "mcp__github__pull_request_read", `{"n":1}`), ""},
		"the first of two":                   {both, call("gemini-cli", "mcp_git_status", `{}`), ""},
		"a run that has ended":               {open("done"), call("claude-code", "Bash", `{}`), ""},
		"a run that is blocked":              {open("blocked"), call("claude-code", "Bash", `{}`), ""},
		"a run that was cancelled":           {open("cancelled"), call("claude-code", "Bash", `{}`), ""},
		"a longer name":                      {status, call("claude-code", "mcp__savant__git_status_", `{"repo":".","limit":3}`), gate.NotIssued},
		"a tool of no named server":          {open("running", issued("s", "files.write_file", `{"a":1}`)), call("cursor", "MCP:write_file", `{"a":1}`), ""},
		"its other input":                    {open("running", issued("s", "files.write_file", `{"a":1}`)), call("cursor", "MCP:write_file", `{"a":2}`), gate.OtherInput},
		"another tool of no named server":    {open("running", issued("s", "files.write_file", `{"a":1}`)), call("cursor", "MCP:file", `{"a":1}`), gate.NotIssued},
		"a call whose outcome is unknown":    {open("running", lost), call("claude-code", "mcp__bank__pay", `{}`), gate.NotAllowed},
		"finding out what happened":          {open("running", lost), call("claude-code", "mcp__savant__git_log", `{}`), ""},
		"reading while answering":            {answering, call("claude-code", "Read", `{"file_path":"/project/a"}`, "/project/a"), ""},
		"reading elsewhere":                  {answering, call("claude-code", "Read", `{"file_path":"/etc/passwd"}`, "/etc/passwd"), gate.NotAllowed},
		"reading a neighbour":                {answering, call("claude-code", "Read", `{"file_path":"/project2/a"}`, "/project2/a"), gate.NotAllowed},
		"places that were not resolved":      {answering, call("claude-code", "Read", `{"file_path":"/project/a"}`), gate.NotAllowed},
		"reading with Savant":                {answering, call("claude-code", "mcp__savant__git_log", `{}`), ""},
		"writing with Savant":                {answering, call("claude-code", "mcp__savant__context_memory_write", `{}`), gate.NotAllowed},
		"reading with another server":        {answering, call("claude-code", "mcp__evil__Read", `{}`), gate.NotAllowed},
		"another client's tool":              {answering, call("gemini-cli", "Read", `{}`), gate.NotAllowed},
		"writing while answering":            {answering, call("claude-code", "Write", `{"file_path":"/project/a"}`), gate.NotAllowed},
		"a tool that is allowed":             {open("running", allowing("Bash")), call("claude-code", "Bash", `{"command":"make"}`), ""},
		"another one":                        {open("running", allowing("Bash")), call("claude-code", "Write", `{}`), gate.NotAllowed},
		"reading where others are allowed":   {open("running", allowing("Bash")), call("claude-code", "Read", `{"file_path":"/project/a"}`, "/project/a"), gate.NotAllowed},
		"a pattern":                          {open("running", allowing("git.*")), call("claude-code", "mcp__savant__git_log", `{}`), ""},
		"a pattern of a server":              {open("running", allowing("mcp__docs__*")), call("claude-code", "mcp__docs__search", `{}`), ""},
		"a pattern that does not fit":        {open("running", allowing("git.*")), call("claude-code", "mcp__savant__github_merge", `{}`), gate.NotAllowed},
		"nothing is allowed":                 {open("running", allowing()), call("claude-code", "mcp__savant__git_log", `{}`), gate.NotAllowed},
		"reading while a person is asked":    {asking, call("claude-code", "Grep", `{"pattern":"/x"}`), ""},
		"a change while a person is asked":   {asking, call("claude-code", "Bash", `{}`), gate.PersonAsked},
		"the person's question made a call":  {asking, call("claude-code", "mcp__savant__human_approve", `{"message":"Go on?"}`), gate.OtherInput},
		"an event that is no call of a tool": {status, gate.Event{Client: "claude-code", Kind: gate.AfterTool, Tool: "Bash"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			decided := gate.Decide([]gate.Run{c.run}, own, c.event)
			require.Equal(t, c.why, decided.Why, decided.Reason)
			require.Equal(t, c.why == "", decided.Verdict == gate.Pass)
			if c.why != "" {
				require.Equal(t, "r1", decided.Run)
				require.Contains(t, decided.Reason, "Refused: ")
			}
		})
	}
}

// TestAReasonSaysWhatToDo: the run, the step, the call with its input, and how to let go.
func TestAReasonSaysWhatToDo(t *testing.T) {
	run := open("running", issued("status", "git.status", `{"repo":".","token":"ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"}`))
	decided := gate.Decide([]gate.Run{run}, own, call("codex", "apply_patch", `{"command":"x"}`))
	for _, part := range []string{"apply_patch is not the issued call", "Run r1 of tour", "step status", "call git.status with exactly", `"repo":"."`, "think.next", "savant hook release r1"} {
		require.Contains(t, decided.Reason, part)
	}
	require.NotContains(t, decided.Reason, "ghp_0123456789")
	require.Equal(t, "status", decided.Step)
}

// TestOtherNamesOfATool: the same tool under the names that clients give it.
func TestOtherNamesOfATool(t *testing.T) {
	run := open("running", issued("status", "git.status", `{}`))
	for tool, prefix := range map[string]string{"mcp__savant__git_status": "mcp__savant__", "mcp__plugin_savant_savant__git_status": "mcp__plugin_savant_savant__",
		"mcp_savant_git_status": "mcp_savant_", "savant_git_status": "savant_", "savant__git_status": "savant__", "MCP:git_status": "MCP:", "@savant/git_status": "@savant/",
		"mcp__savant__git.status": "mcp__savant__", "git.status": ""} {
		decided := gate.Decide([]gate.Run{run}, gate.Own{Prefixes: []string{prefix}}, call("x", tool, ``))
		require.Equal(t, gate.Pass, decided.Verdict, tool)
		name, found, ok := gate.Stepping(prefix + "think_plan")
		require.True(t, ok)
		require.Equal(t, []string{"think.plan", prefix}, []string{name, found})
	}
	_, _, ok := gate.Stepping("rethink_plan")
	require.False(t, ok)
}

// TestTheEndOfATurn: held twice without progress, and anew after a record.
func TestTheEndOfATurn(t *testing.T) {
	run := open("running", issued("status", "git.status", `{}`))
	stops := make([]gate.Stops, 1)
	for i, want := range []gate.Verdict{gate.Hold, gate.Hold, gate.Pass, gate.Pass} {
		var decided gate.Decision
		decided, stops = gate.End([]gate.Run{run}, stops)
		require.Equal(t, want, decided.Verdict, i)
	}
	run.Progress++
	decided, stops := gate.End([]gate.Run{run}, stops)
	require.Equal(t, gate.Hold, decided.Verdict)
	for _, status := range []string{"waiting", "blocked", "done", "failed", "cancelled", ""} {
		run.Status = status
		decided, _ = gate.End([]gate.Run{run}, stops)
		require.Equal(t, gate.Pass, decided.Verdict, status)
	}
}

func TestWhatFailsIsRefused(t *testing.T) {
	decided := gate.Failed(gate.BeforeTool, fault.New(fault.Internal, "the disk is gone"))
	require.Equal(t, gate.Refuse, decided.Verdict)
	require.Contains(t, decided.Reason, "savant hook release")
	require.Equal(t, gate.Pass, gate.Failed(gate.TurnEnd, nil).Verdict)
}

package think_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think"
	"savant/think/state"
)

// scenario is one txtar file: workflows and schemas of a folder, a script of
// calls, and the trace of their replies.
//
// A line of the script is a command and its arguments as one JSON object:
//
//	plan, next, explain, reset, state.get, state.list, validate, debug,
//	workflows.list, workflows.read    the tool; workflow and run_id are those
//	                                  of the last plan where they are absent
//	call NAME TOOL …                  calls a tool through Savant; $NAME stands for
//	                                  its receipt from then on, also in the trace
//	seen …                            next with a result_snapshot, handed in as the
//	                                  receipt of the call that was asked for last
//	look STEP                         what a person is shown
//	approve STEP ANSWER               a person's answer, to what was looked at
//	                                  last, else to what is shown now
//	permute PLAN STEP=ANSWER …        one run for every order of the answers
//	unchanged COMMAND …               no journal changes by the command
//	same COMMAND …                    the reply is that of the command before
//	edit NAME                         replaces a file by NAME.edited
//	clock DURATION                    sets the time since the start
//	reopen                            ends the server and starts another
type scenario struct {
	file    string
	archive *txtar.Archive
}

func readScenario(t *testing.T, file string) *scenario {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	return &scenario{file, archive}
}

func (s *scenario) part(name string) (string, bool) {
	at := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if at < 0 {
		return "", false
	}
	return string(s.archive.Files[at].Data), true
}

// lay writes the scenario's files into a new folder.
func (s *scenario) lay(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range s.archive.Files {
		if strings.HasSuffix(f.Name, ".yaml") || strings.HasSuffix(f.Name, ".json") {
			place(t, root, f.Name, f.Data)
		}
	}
	return root
}

func place(t *testing.T, root, name string, data []byte) {
	t.Helper()
	if !strings.Contains(name, "/") {
		name = "workflows/" + name
	}
	target := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o755))
	require.NoError(t, os.WriteFile(target, data, 0o644))
}

func (s *scenario) commands() []string {
	script, _ := s.part("script")
	var lines []string
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// play is a script under way.
type play struct {
	t        *testing.T
	scenario *scenario
	root     string
	driver   driver
	workflow string
	run      string
	looked   map[string]string // digest by step
	receipts map[string]string // by name
	last     json.RawMessage
	trace    strings.Builder
	replies  func(command string, reply json.RawMessage)
}

func (p *play) all() string {
	for _, line := range p.scenario.commands() {
		reply := p.command(line)
		if reply == nil {
			continue
		}
		p.last = reply
		p.trace.WriteString("# " + fault.Cut(line, 120) + "\n" + p.named(pretty(p.t, reply)) + "\n")
		if p.replies != nil {
			p.replies(line, reply)
		}
	}
	return p.trace.String()
}

func (p *play) command(line string) json.RawMessage {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	for named, receipt := range p.receipts {
		rest = strings.ReplaceAll(rest, "$"+named, receipt)
	}
	switch name {
	case "call":
		return p.callTool(rest)
	case "seen":
		return p.tool("next", p.witness(rest))
	case "look":
		return p.look(rest)
	case "approve":
		return p.approve(rest)
	case "permute":
		return p.permute(rest)
	case "unchanged":
		before := journals(p.t, p.root)
		reply := p.command(rest)
		require.True(p.t, maps.Equal(before, journals(p.t, p.root)), "%s: a journal changed: %s", line, reply)
		return reply
	case "same":
		reply := p.command(rest)
		require.Equal(p.t, string(p.last), string(reply), "%s: the reply differs from the one before", line)
		return reply
	case "edit":
		edited, ok := p.scenario.part(rest + ".edited")
		require.True(p.t, ok, "%s: no such file", line)
		place(p.t, p.root, rest, []byte(edited))
		return nil
	case "clock":
		require.NoError(p.t, os.WriteFile(filepath.Join(p.root, "clock"), []byte(rest), 0o644))
		return nil
	case "reopen":
		p.driver.reopen(p.t)
		return nil
	}
	return p.tool(name, rest)
}

// callTool calls a tool as a client does that follows an instruction.
func (p *play) callTool(rest string) json.RawMessage {
	name, rest, _ := strings.Cut(rest, " ")
	tool, args, _ := strings.Cut(rest, " ")
	reply := p.driver.call(p.t, tool, json.RawMessage(args))
	var carried struct {
		Receipt string `json:"_receipt"`
	}
	require.NoError(p.t, json.Unmarshal(reply, &carried))
	require.Len(p.t, carried.Receipt, 8, "%s: %.200s", rest, reply)
	if p.receipts == nil {
		p.receipts = map[string]string{}
	}
	p.receipts[name] = carried.Receipt
	return reply
}

// witness leaves the receipt of a call that the last reply asks for and that gave
// the result of a next, and puts the receipt in the place of the result.
func (p *play) witness(rest string) string {
	var last struct {
		Instruction struct {
			Call  string
			Input json.RawMessage
		}
	}
	require.NoError(p.t, json.Unmarshal(p.last, &last))
	args := map[string]json.RawMessage{}
	require.NoError(p.t, json.Unmarshal([]byte(rest), &args), rest)
	if p.receipts == nil {
		p.receipts = map[string]string{}
	}
	count := len(p.receipts)
	id := fmt.Sprintf("seenaa%c%c", 'a'+count/26%26, 'a'+count%26)
	p.receipts[id] = id
	keepReceipt(p.t, p.root, state.Receipt{ID: id, Tool: last.Instruction.Call, Input: inputDigest(last.Instruction.Input), Result: args["result_snapshot"]})
	delete(args, "result_snapshot")
	p.fill(args, "result_ref", id)
	data, err := json.Marshal(args)
	require.NoError(p.t, err)
	return string(data)
}

// named puts names for receipts, which are drawn at random.
func (p *play) named(trace string) string {
	for name, receipt := range p.receipts {
		trace = strings.ReplaceAll(trace, receipt, "$"+name)
	}
	return trace
}

// tool calls a tool of Think with the last plan's workflow and run.
func (p *play) tool(name, rest string) json.RawMessage {
	args := map[string]json.RawMessage{}
	if rest != "" {
		require.NoError(p.t, json.Unmarshal([]byte(rest), &args), "%s %s", name, rest)
	}
	run := !slices.Contains([]string{"validate", "workflows.list", "workflows.read", "state.list", "driver_prompt"}, name)
	if name == "plan" {
		p.planned(args)
	} else if run {
		p.fill(args, "workflow", p.workflow)
		p.fill(args, "run_id", p.run)
	}
	data, err := json.Marshal(args)
	require.NoError(p.t, err)
	return p.driver.call(p.t, "think."+name, data)
}

func (p *play) planned(args map[string]json.RawMessage) {
	p.fill(args, "run_id", "r1")
	require.NoError(p.t, json.Unmarshal(args["run_id"], &p.run))
	if args["workflow"] == nil {
		p.fill(args, "workflow", p.workflow)
	}
	require.NoError(p.t, json.Unmarshal(args["workflow"], &p.workflow))
	p.looked = map[string]string{}
}

// fill sets a member that is absent; an explicit null removes it.
func (p *play) fill(args map[string]json.RawMessage, key, value string) {
	if given, ok := args[key]; ok {
		if string(given) == "null" {
			delete(args, key)
		}
		return
	}
	data, err := json.Marshal(value)
	require.NoError(p.t, err)
	args[key] = data
}

func (p *play) look(step string) json.RawMessage {
	return p.driver.person(p.t, func(engine *think.Engine) (any, error) {
		shown, err := p.pending(engine, step)
		p.looked[step] = shown.Digest
		return shown, err
	})
}

func (p *play) pending(engine *think.Engine, step string) (think.Pending, error) {
	list, err := engine.Pending(p.t.Context(), p.workflow, p.run)
	if err != nil {
		return think.Pending{}, err
	}
	for _, each := range list {
		if each.StepID == step {
			return each, nil
		}
	}
	return think.Pending{}, nil
}

func (p *play) approve(rest string) json.RawMessage {
	step, text, _ := strings.Cut(rest, " ")
	answer, err := jsonvalue.Decode([]byte(text))
	require.NoError(p.t, err, rest)
	return p.driver.person(p.t, func(engine *think.Engine) (any, error) {
		digest, looked := p.looked[step]
		if !looked {
			shown, err := p.pending(engine, step)
			if err != nil {
				return nil, err
			}
			digest = shown.Digest
		}
		return engine.Approve(p.t.Context(), think.Pending{Workflow: p.workflow, RunID: p.run, StepID: step, Digest: digest}, answer, think.Caller{Name: think.ByTerminal})
	})
}

// journals returns the bytes of every journal of a folder.
func journals(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	matches, err := filepath.Glob(filepath.Join(root, ".savant", "state", "*", "*.journal"))
	require.NoError(t, err)
	for _, file := range matches {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		found[filepath.Base(file)] = string(data)
	}
	return found
}

package program

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/cmd/savant/app"
	"savant/cmd/savant/commands"
	"savant/engines"
	"savant/telemetry"
	"savant/test/agenttest"
)

// inScenario is the program with the tools of the scenarios in the place of its
// own; those of the agent stay.
func inScenario() int { return commands.Start("", scenarioEngines) }

func scenarioEngines(a *app.App) error {
	tools := agenttest.Tools(a.Path)
	return a.Tools.Add(slices.DeleteFunc(tools, func(t engines.Tool) bool { return engines.EngineOf(t.Name) == "agent" })...)
}

// Not played from outside, and why. The person of a scenario is at a terminal
// in TestATerminalIsAskedBeforeADestructiveCall.
var (
	notByCommand = map[string]string{
		"pattern_unknown":               "the command line refuses it",
		"destructive_allowed_by_client": "it is of clients",
		"destructive_forced_by_client":  "it is of clients",
		"destructive_confirmed":         "a person answers",
		"destructive_declined":          "a person answers",
		"wrong_order":                   "the command line refuses it before there is an order",
	}
	notOverMCP = map[string]string{
		"destructive_allowed":   "it is of the command line",
		"destructive_confirmed": "a person answers",
		"destructive_declined":  "a person answers",
		"unknown_persona":       "agent.run has no persona",
	}
)

// enough is how many scenarios have to be played each way.
const enough = 40

// TestScenariosFromOutside plays the scenarios of the agent with a process of
// their own, by the command and over MCP, against the same goldens: outside of
// CI each in one of the two ways, in turns.
func TestScenariosFromOutside(t *testing.T) {
	t.Parallel()
	skipInShort(t) // package agent plays them within one process
	files, err := filepath.Glob("../../agent/testdata/scenarios/*.txtar")
	require.NoError(t, err)
	for way, play := range map[string]struct {
		run  func(*testing.T, *stage) played
		skip map[string]string
	}{"command": {byCommand, notByCommand}, "mcp": {overMCP, notOverMCP}} {
		require.GreaterOrEqual(t, len(files)-len(play.skip), enough)
		for i, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			turn := os.Getenv("CI") != "" || (i%2 == 0) == (way == "mcp")
			if play.skip[name] != "" || !turn {
				continue
			}
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := setStage(t, file)
				s.check(t, play.run(t, s))
			})
		}
	}
}

// stage is a folder, a Reasoning API and the environment of one scenario.
type stage struct {
	agenttest.Scenario
	name        string
	folder      string
	log         *agenttest.Journal
	address     string
	environment []string
}

// played is what was seen of a scenario.
type played struct {
	events  []telemetry.Event
	report  agent.Report
	refused string
}

func setStage(t *testing.T, file string) *stage {
	t.Helper()
	scenario, err := agenttest.Read(file)
	require.NoError(t, err)
	s := &stage{Scenario: scenario, name: filepath.Base(file), folder: t.TempDir(), log: &agenttest.Journal{}}
	api := httptest.NewServer(&agenttest.API{Answers: scenario.Answers, Log: s.log})
	t.Cleanup(api.Close)
	s.address = api.Listener.Addr().String()
	s.environment = append(os.Environ(), "SAVANT_PATH="+s.folder, "XDG_CACHE_HOME="+t.TempDir(), "LOG_LEVEL=error", "MCP_SERVICE=agent",
		"REASONING_API_URL="+api.URL, "REASONING_API_RETRIES=1", "SCENARIO_TOKEN=planted-secret-value")
	for name, set := range map[string]bool{"AGENT_DISABLE_TOOLS": scenario.Policy.DisableTools, "AGENT_DISABLE_CONTEXT_TOOLS": scenario.Policy.DisableContext,
		"AGENT_DISABLE_SEARCH_TOOLS": scenario.Policy.DisableSearch, "AGENT_ALLOW_THINK_TOOLS": scenario.Policy.AllowThink,
		"AGENT_DISABLE_WORKFLOW_AUTODETECT": scenario.Policy.DisableDetect} {
		if set {
			s.environment = append(s.environment, name+"=1")
		}
	}
	s.writeProject(t)
	return s
}

// writeProject gives the project what the scenarios know: personas, rules and a
// workflow more.
func (s *stage) writeProject(t *testing.T) {
	t.Helper()
	prompts := agenttest.Prompts()
	rules := []map[string]string{}
	for _, each := range prompts.Rules {
		rule := map[string]string{"name": each.Name, "workflow": each.Workflow, "persona": each.Persona, "params_from_goal": each.ParamFromGoal}
		for name, value := range rule {
			if value == "" {
				delete(rule, name)
			}
		}
		rules = append(rules, rule)
	}
	text := "driver: {latest: \"1.1\", versions: {\"1.1\": {file: driver_v1.1.md}}}\npersonas: " + compact(t, prompts.Personas) + "\namr_rules:\n"
	for i, rule := range rules {
		phrases := compact(t, prompts.Rules[i].Phrases)
		text += "  - {phrases: " + phrases + ", " + strings.TrimPrefix(compact(t, rule), "{") + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "prompts.yml"), []byte(text), 0o600))
	trusts(t, s.folder)
	require.NoError(t, os.Mkdir(filepath.Join(s.folder, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(s.folder, "workflows", "review_v1.yaml"),
		[]byte("name: review_v1\nversion: \"1.0\"\nsteps:\n  - {id: a, call: llm.generate, input_template: {task: Review}}\n"), 0o600))
}

func compact(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return string(data)
}

// byCommand gives the order as a person does.
func byCommand(t *testing.T, s *stage) played {
	t.Helper()
	command := s.command()
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		require.ErrorContains(t, err, "exit status", stderr.String())
	}
	return readStream(t, string(out)+stderr.String())
}

// command is the command line of a scenario; stderr has to stay empty.
func (s *stage) command() *exec.Cmd {
	command := exec.Command("savant-in-scenario", append(s.flags(), "--output", "stream-json", "--quiet", "--skip-git")...)
	command.Env = s.environment
	return command
}

// readStream reads what --output stream-json prints: events, then the report.
func readStream(t *testing.T, out string) (got played) {
	t.Helper()
	for line := range strings.Lines(out) {
		var last struct {
			Type   string
			Report agent.Report
		}
		require.NoError(t, json.Unmarshal([]byte(line), &last), line)
		if last.Type == "report" {
			got.report = last.Report
			continue
		}
		var event telemetry.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event))
		got.events = append(got.events, event)
	}
	return got
}

func (s *stage) flags() []string {
	o := s.Order
	args := []string{"run"}
	for name, value := range map[string]string{"agent-input": o.Goal, "force-tool": o.ForceTool, "force-args": string(o.ForceArgs), "workflow": o.Workflow, "persona": o.Persona} {
		if value != "" {
			args = append(args, "--"+name, value)
		}
	}
	for name, set := range map[string]bool{"dry-run": o.DryRun, "force-finish": o.ForceFinish, "read-only": o.ReadOnly} {
		if set {
			args = append(args, "--"+name)
		}
	}
	if o.MaxSteps > 0 {
		args = append(args, "--max-steps", strconv.Itoa(o.MaxSteps))
	}
	for _, each := range append(o.Allow, s.Policy.Allow...) {
		args = append(args, "--allow", each)
	}
	for _, each := range append(o.Deny, s.Policy.Deny...) {
		args = append(args, "--deny", each)
	}
	return args
}

// overMCP gives the order as a client does; the events are those of the trace.
func overMCP(t *testing.T, s *stage) (got played) {
	t.Helper()
	o := s.Order
	wait := 50_000
	var arguments map[string]any
	if len(o.ForceArgs) > 0 {
		require.NoError(t, json.Unmarshal(o.ForceArgs, &arguments))
	}
	served := startServer(t, exec.Command("savant-in-scenario", "mcp"), s.folder, s.environment...)
	served.send(t, 1, "agent_run", agent.RunInput{Goal: o.Goal, MaxSteps: o.MaxSteps, Workflow: o.Workflow, ForceTool: o.ForceTool, ForceArgs: arguments,
		ForceFinish: o.ForceFinish, DryRun: o.DryRun, ReadOnly: o.ReadOnly, Allow: append(o.Allow, s.Policy.Allow...), Deny: append(o.Deny, s.Policy.Deny...), WaitMS: &wait})
	require.True(t, served.lines.Scan())
	var reply struct {
		Result struct {
			IsError           bool
			StructuredContent json.RawMessage
		}
	}
	require.NoError(t, json.Unmarshal(served.lines.Bytes(), &reply))
	require.NoError(t, served.stdin.Close())
	require.NoError(t, served.wait(t))
	if reply.Result.IsError {
		got.refused = string(reply.Result.StructuredContent)
		return got
	}
	require.NoError(t, json.Unmarshal(reply.Result.StructuredContent, &got.report))
	data, err := os.ReadFile(filepath.Join(s.folder, filepath.FromSlash(telemetry.TraceFile)))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var event telemetry.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event))
		got.events = append(got.events, event)
	}
	return got
}

// check holds what was seen against the golden: the questions in their order,
// the events in theirs, and the end. When a snapshot is written depends on how
// long an answer takes, so those are left out; of calls made at once the order
// is anyone's.
func (s *stage) check(t *testing.T, got played) {
	t.Helper()
	var asks, events []string
	ending := ""
	for line := range strings.Lines(s.Transcript) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "ask "):
			asks = append(asks, line)
		case strings.HasPrefix(line, "  memory_snapshot"):
		case strings.HasPrefix(line, "  ") && ending == "":
			events = append(events, line)
		default:
			ending += line + "\n"
		}
	}
	if refused, was := strings.CutPrefix(ending, "refused: INVALID_PARAMS: "); was {
		// Over MCP it is JSON, which escapes quotes.
		require.Contains(t, strings.ReplaceAll(got.refused, `\"`, `"`), strings.TrimSpace(refused))
		return
	}
	var shown []string
	for _, each := range got.events {
		if each.Source == telemetry.SourceAgent && each.Type != telemetry.MemorySnapshot && each.Metadata["attempt"] == nil {
			shown = append(shown, agenttest.Shown(each))
		}
	}
	if s.name == "parallel.txtar" {
		slices.Sort(events)
		slices.Sort(shown)
	}
	require.Equal(t, events, shown)
	var seen []string
	for line := range strings.Lines(strings.TrimSpace(s.log.Text())) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			seen = append(seen, line)
		}
	}
	require.Equal(t, asks, seen)
	require.Equal(t, ending, strings.Replace(agenttest.Ending(got.report), "the Reasoning API at "+s.address, "the script", 1))
}

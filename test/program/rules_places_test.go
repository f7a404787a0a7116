package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"savant/cmd/savant/app"
	"savant/cmd/savant/commands"
	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/rules"
	"savant/rules/sessions"
	"savant/think/flow"
	"savant/think/gate"
	"savant/think/gate/clients"
)

// ruleCase is a case of the language with the text of its rules, and what has to come of it.
type ruleCase struct {
	rules.Case
	set      *rules.Set
	text     []byte
	want     judged
	outcomes []scripted // of the calls that are made
}

// scripted is what a tool answers.
type scripted struct {
	Result          any
	Failed, Unknown bool
}

// ruleCases reads the files of cases that package rules runs, too.
func ruleCases(t *testing.T) (all []ruleCase) {
	folder := "../rules/"
	for _, name := range []string{"sentences", "bank", "rules-cases"} {
		file := folder + name + ".cases.yaml"
		if name == "rules-cases" {
			file = folder + name + ".yaml"
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		read, err := rules.ParseCases(file, source)
		require.NoError(t, err)
		value, err := flow.ReadYAML(file, source)
		require.NoError(t, err)
		for i, each := range read.Cases {
			one := ruleCase{Case: each}
			if each.File == nil {
				one.text, err = os.ReadFile(folder + name + ".yaml")
				require.NoError(t, err)
				one.text = bytes.Replace(one.text, []byte("name: "+name+"\n"), nil, 1)
			} else {
				own := map[string]any{}
				for _, key := range []string{"facts", "success", "evidence", "rules"} {
					if section := value.([]any)[i].(map[string]any)[key]; section != nil {
						own[key] = section
					}
				}
				one.text, err = jsonvalue.Encode(own)
				require.NoError(t, err)
			}
			parsed, err := rules.Parse("rules/r.yaml", one.text)
			require.NoError(t, err, each.Name)
			one.set = rules.New(parsed)
			one.expect(t)
			all = append(all, one)
		}
	}
	return all
}

// judged is what a place makes of a case: the calls that were made, those of which a rule was
// not met, in their order, and what a person is asked.
type judged struct{ Made, Refused, Asked []string }

func rowOfCall(tool string, input any) string { return tool + " " + string(jsonvalue.Encoded(input)) }

// labels are the numbers of calls and the places in files.
var labels = regexp.MustCompile(`#\d+|[a-z./-]+\.yaml:\d+:\d+`)

// rowOfFindings writes findings without the places in files and the numbers of calls.
func rowOfFindings(tool string, made bool, found []rules.Summary) string {
	row := tool
	if made {
		row += " made"
	}
	for _, each := range found {
		row += "; rule " + each.Rule
		for _, part := range each.Parts {
			row += fmt.Sprintf(", %s %s (%s)", part.Name, part.State, labels.ReplaceAllString(part.Text, "#"))
		}
	}
	return row
}

// expect judges a case by the engine alone.
func (c *ruleCase) expect(t *testing.T) {
	require.Empty(t, c.Run(c.set, nil), c.Name)
	history, now := rules.NewHistory(c.set), int64(0)
	for i := range c.Steps {
		step := &c.Steps[i]
		if step.Input == nil {
			step.Input = map[string]any{}
		}
		now += step.After
		call := rules.Call{Tool: step.Tool, Input: step.Input, Session: step.Session, Time: now, Witness: "gateway"}
		verdict := rules.Decide(c.set, history, call)
		assert.True(t, step.Expect != "" || verdict.Decision == rules.Allow, "%s: a step without expect has to be allowed: %s", c.Name, verdict.Text())
		if verdict.Decision == rules.Ask {
			c.want.Asked = append(c.want.Asked, rowOfCall(step.Tool, step.Input))
			continue
		}
		if len(verdict.Findings) > 0 {
			c.want.Refused = append(c.want.Refused, rowOfFindings(step.Tool, verdict.Decision == rules.Allow, verdict.Summaries()))
		}
		if verdict.Decision == rules.Refuse {
			history.Refuse(call)
			continue
		}
		c.want.Made = append(c.want.Made, rowOfCall(step.Tool, step.Input))
		c.outcomes = append(c.outcomes, scripted{step.Result, step.Failed, step.Unknown})
		outcome := rules.OutcomeOf(!step.Failed)
		if step.Unknown {
			outcome = rules.Unknown
		}
		history.Settle(history.Reserve(call), outcome, step.Result, "")
	}
	slices.Sort(c.want.Asked)
	c.want.Asked = slices.Compact(c.want.Asked)
}

// longest is the longest time that passes before a step.
func (c ruleCase) longest() (longest time.Duration) {
	for _, each := range c.Steps {
		longest = max(longest, time.Duration(each.After)*time.Millisecond)
	}
	return longest
}

// sessions returns the names of a case's sessions in the order in which they begin.
func (c ruleCase) sessions() (names []string) {
	for _, each := range c.Steps {
		if !slices.Contains(names, each.Session) {
			names = append(names, each.Session)
		}
	}
	return names
}

const (
	scriptFile = "double/script.json"
	madeFile   = "double/made.ndjson"
)

// prepare makes a folder with the rules, and with what the tools answer.
func (c ruleCase) prepare(t *testing.T) string {
	folder, tools := t.TempDir(), map[string]bool{}
	for _, step := range c.Steps {
		tools[step.Tool] = true
	}
	places(t, folder, "rules/r.yaml", string(c.text))
	places(t, folder, scriptFile, string(jsonvalue.Encoded(map[string]any{"tools": tools, "outcomes": c.outcomes})))
	return folder
}

// scriptedTools are the tools of a folder's script: the nth call that is made, of all
// processes, gets the nth outcome.
func scriptedTools(folder string) (all []engines.Tool, err error) {
	var script struct {
		Tools    map[string]bool `json:"tools"`
		Outcomes []scripted      `json:"outcomes"`
	}
	text, err := os.ReadFile(filepath.Join(folder, scriptFile))
	if err != nil {
		return nil, err
	}
	if err := jsonvalue.UnmarshalStored(text, &script); err != nil {
		return nil, err
	}
	for name := range script.Tools {
		all = append(all, engines.Tool{Name: name, Title: "Tool " + name, Description: "A tool.", Input: []byte(`{"type":"object"}`),
			Output: []byte(`{"type":"object","properties":{"result":{}},"required":["result"]}`),
			Call: func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) {
				nth, err := noteMade(folder, name, args)
				if err != nil {
					return nil, err
				}
				outcome := scripted{}
				if nth < len(script.Outcomes) {
					outcome = script.Outcomes[nth]
				}
				switch {
				case outcome.Unknown:
					return nil, fault.New(fault.ToolTimeout, "nobody knows").OutcomeUnknown()
				case outcome.Failed:
					return nil, fault.New(fault.ToolFailed, "it failed")
				}
				return map[string]any{"result": outcome.Result}, nil
			}})
	}
	return all, nil
}

// noteMade notes a call, and returns how many were made before it.
func noteMade(folder, tool string, args []byte) (int, error) {
	input, err := jsonvalue.Decode(args)
	if err != nil {
		return 0, err
	}
	name := filepath.Join(folder, madeFile)
	before, _ := os.ReadFile(name) // the first call finds none
	return bytes.Count(before, []byte("\n")), os.WriteFile(name, append(before, rowOfCall(tool, input)+"\n"...), 0o600)
}

// withScript is the program with the tools of its folder's script.
func withScript() int {
	return commands.Start("", func(a *app.App) error {
		tools, err := scriptedTools(a.Path)
		if err != nil {
			return err
		}
		return a.Tools.Add(tools...)
	})
}

// seenIn reads what a folder's journals of rules tell.
func seenIn(t *testing.T, folder string) (out judged) {
	made, _ := os.ReadFile(filepath.Join(folder, madeFile)) // none was made
	for line := range strings.Lines(string(made)) {
		out.Made = append(out.Made, strings.TrimSuffix(line, "\n"))
	}
	keeper := keeperOf(t, folder, time.Now)
	_, refused, err := keeper.Sessions()
	require.NoError(t, err)
	slices.Reverse(refused)
	for _, each := range refused {
		out.Refused = append(out.Refused, rowOfFindings(each.Tool, each.Made, each.Rules))
	}
	asked, err := keeper.Questions()
	require.NoError(t, err)
	for _, each := range asked {
		out.Asked = append(out.Asked, rowOfCall(each.Tool, each.Input))
	}
	slices.Sort(out.Asked)
	return out
}

func keeperOf(t *testing.T, folder string, now func() time.Time) *sessions.Keeper {
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return sessions.Open(sessions.Options{Files: root.FS(), Root: root, Logger: slog.New(slog.DiscardHandler), Now: now, Process: sessions.OfHooks})
}

// clock passes as a case says.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newClock() *clock { return &clock{time.UnixMilli(1_800_000_000_000)} }

func (c *clock) pass(after int64) { c.now = c.now.Add(time.Duration(after) * time.Millisecond) }

// inProcess calls through the registry.
func inProcess(t *testing.T, c ruleCase) judged {
	folder, at := c.prepare(t), newClock()
	registry := engines.NewRegistry(engines.Options{Rules: keeperOf(t, folder, at.Now)})
	tools, err := scriptedTools(folder)
	require.NoError(t, err)
	require.NoError(t, registry.Add(tools...))
	for _, step := range c.Steps {
		at.pass(step.After)
		call := engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: "http s-" + step.Session, Lasting: true}}}
		if _, err := registry.Invoke(t.Context(), call, step.Tool, jsonvalue.Encoded(step.Input)); err != nil {
			require.Contains(t, []fault.Code{fault.ToolFailed, fault.ToolTimeout, fault.RuleRefused, fault.ApprovalRequired}, fault.From(err).Code, "%v", err)
		}
	}
	return seenIn(t, folder)
}

// overStdio has a connection for each session.
func overStdio(t *testing.T, c ruleCase) judged {
	folder := c.prepare(t)
	servers := map[string]*server{}
	for i, step := range c.Steps {
		waits(step.After)
		s := servers[step.Session]
		if s == nil {
			s = startServer(t, exec.Command("savant-with-script", "mcp"), folder, "MCP_SERVICE=all")
			servers[step.Session] = s
		}
		s.send(t, i, step.Tool, step.Input)
		_, answered := s.read(t)
		require.True(t, answered)
	}
	return seenIn(t, folder)
}

// waits lets the time of a case pass.
func waits(after int64) { time.Sleep(time.Duration(after) * time.Millisecond) }

// overTokens has a token for each session.
func overTokens(t *testing.T, c ruleCase) judged {
	folder, configuration := c.prepare(t), "XDG_CONFIG_HOME="+t.TempDir()
	tokens := map[string]string{}
	s := serveProgram(t, "savant-with-script", folder, configuration, "MCP_SERVICE=all")
	for _, step := range c.Steps {
		waits(step.After)
		if tokens[step.Session] == "" {
			command := exec.Command("savant", "token", "add", "s-"+step.Session, "--scope", "run", "--path", folder)
			command.Env = append(os.Environ(), configuration)
			out, err := command.Output()
			require.NoError(t, err)
			tokens[step.Session] = strings.TrimSpace(string(out))
		}
		status, body := s.callHTTP(t, tokens[step.Session], step.Tool, step.Input)
		require.Equal(t, http.StatusOK, status, body)
	}
	return seenIn(t, folder)
}

// byHooks are the events of a client, as its recorded ones are.
func byHooks(client string) func(*testing.T, ruleCase) judged {
	return func(t *testing.T, c ruleCase) judged {
		folder, at := c.prepare(t), newClock()
		recorded := recordedEvents(t, client)
		ask := func(stdin map[string]any) gate.Decision {
			reads, err := clients.Find(client)
			require.NoError(t, err)
			report, err := reads.Read(jsonvalue.Encoded(stdin), "")
			require.NoError(t, err)
			return keeperOf(t, folder, at.Now).Ask(t.Context(), report.Event)
		}
		made := 0
		for _, step := range c.Steps {
			at.pass(step.After)
			before, after := recorded.of(t, step, false), recorded.of(t, step, true)
			if ask(before).Verdict != gate.Pass {
				continue
			}
			nth, err := noteMade(folder, step.Tool, jsonvalue.Encoded(step.Input))
			require.NoError(t, err)
			require.Equal(t, made, nth)
			made++
			if step.Unknown { // the turn ends, and no hook reported it
				require.Equal(t, gate.Decision{}, keeperOf(t, folder, at.Now).Ask(t.Context(), gate.Event{Client: client, Session: "s-" + step.Session, Kind: gate.TurnEnd}))
				continue
			}
			require.Equal(t, gate.Decision{}, ask(after))
		}
		return seenIn(t, folder)
	}
}

// recording is the events of a client before and after a call of a tool of another server.
type recording struct {
	client        string
	before, after []byte
}

func recordedEvents(t *testing.T, client string) recording {
	source, err := os.ReadFile("../../think/gate/clients/testdata/events/" + client + ".ndjson")
	require.NoError(t, err)
	found := recording{client: client}
	for line := range bytes.Lines(source) {
		var each struct {
			Stdin json.RawMessage
		}
		require.NoError(t, json.Unmarshal(line, &each))
		var event struct {
			Tool string `json:"tool_name"`
		}
		require.NoError(t, json.Unmarshal(each.Stdin, &event))
		switch {
		case !strings.HasSuffix(event.Tool, "savant__demo_good") && !strings.HasSuffix(event.Tool, "savant_demo_good"):
		case bytes.Contains(each.Stdin, []byte("SERVER-RAN")) && found.after == nil:
			found.after = each.Stdin
		case found.before == nil:
			found.before = each.Stdin
		}
	}
	require.NotEmpty(t, found.before, client)
	require.NotEmpty(t, found.after, client)
	return found
}

// of is the event before or after the call of a step.
func (r recording) of(t *testing.T, step rules.Step, after bool) map[string]any {
	text := r.before
	if after {
		text = r.after
	}
	value, err := jsonvalue.Decode(text)
	require.NoError(t, err)
	server, tool, _ := strings.Cut(step.Tool, ".")
	put := strings.NewReplacer("demo_good", tool, "savant", server)
	event := value.(map[string]any)
	for key, each := range event {
		if name, is := each.(string); is && key == "tool_name" {
			event[key] = put.Replace(name)
		}
	}
	for _, key := range []string{"mcp_server", "mcp_context"} {
		if of, has := event[key].(map[string]any); has {
			for name, each := range of {
				if text, is := each.(string); is {
					of[name] = put.Replace(text)
				}
			}
		}
	}
	event["tool_input"], event["session_id"] = step.Input, "s-"+step.Session
	if !after {
		return event
	}
	event["tool_response"] = filled(event["tool_response"], string(jsonvalue.Encoded(step.Result)))
	switch {
	case step.Failed && r.client == "claude-code":
		event["hook_event_name"], event["error"] = "PostToolUseFailure", "it failed"
		delete(event, "tool_response")
	case step.Failed:
		event["tool_response"] = map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": "it failed"}}}
	}
	return event
}

// filled puts a result where the recorded one is.
func filled(value any, result string) any {
	switch value := value.(type) {
	case string:
		return strings.Replace(value, `SERVER-RAN demo_good {"n":2}`, result, 1)
	case []any:
		for i, each := range value {
			value[i] = filled(each, result)
		}
	case map[string]any:
		for name, each := range value {
			value[name] = filled(each, result)
		}
	}
	return value
}

// turns answer the questions of several sessions in the order of a case's steps.
type turns struct {
	mutex sync.Mutex
	moved *sync.Cond
	done  []bool
}

// pass notes that steps are done.
func (o *turns) pass(steps ...int) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, each := range steps {
		o.done[each] = true
	}
	o.moved.Broadcast()
}

// serve answers the nth question of a session: with the call of its nth step once all
// steps before it are done, and with the end.
func (o *turns) serve(t *testing.T, steps []int, answer func(step int) any) string {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request reasoning.Request
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &request) != nil {
			http.Error(w, "not like this", http.StatusBadRequest)
			return
		}
		if asked > 0 {
			o.pass(steps[asked-1])
		}
		o.mutex.Lock()
		defer o.mutex.Unlock()
		if asked == len(steps) {
			_, _ = io.WriteString(w, `{"action":"finish","final":"over"}`)
			return
		}
		for slices.Contains(o.done[:steps[asked]], false) {
			o.moved.Wait()
		}
		asked++
		_, _ = w.Write(jsonvalue.Encoded(answer(steps[asked-1])))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// asRuns carries the sessions of a case out as runs, all at once.
func (c ruleCase) asRuns(t *testing.T, folder string, answer func(step int) any, arguments func(session string, steps []int) []string) map[string]string {
	order := &turns{done: make([]bool, len(c.Steps))}
	order.moved = sync.NewCond(&order.mutex)
	said, mutex := map[string]string{}, sync.Mutex{}
	trusts(t, folder)
	var wait sync.WaitGroup
	for _, session := range c.sessions() {
		var steps []int
		for i, each := range c.Steps {
			if each.Session == session {
				steps = append(steps, i)
			}
		}
		command := exec.Command("savant-with-script", append(arguments(session, steps), "--path", folder)...)
		command.Env = append(os.Environ(), "REASONING_API_URL="+order.serve(t, steps, answer), "LOG_LEVEL=error", "AGENT_MAX_STEPS=100", "XDG_CACHE_HOME="+t.TempDir())
		wait.Go(func() {
			out, _ := command.CombinedOutput() // a run may fail
			order.pass(steps...)
			mutex.Lock()
			defer mutex.Unlock()
			said[session] = string(out)
		})
	}
	wait.Wait()
	return said
}

// byAgents has a run of the agent for each session.
func byAgents(t *testing.T, c ruleCase) judged {
	folder := c.prepare(t)
	said := c.asRuns(t, folder, func(step int) any {
		waits(c.Steps[step].After)
		return map[string]any{"action": "tool", "tool_name": c.Steps[step].Tool, "args": c.Steps[step].Input}
	}, func(string, []int) []string { return []string{"run", "Work.", "--skip-git"} })
	t.Log(said)
	return seenIn(t, folder)
}

// byWorkflows has a driven run for each session, which asks before each step whether it is its
// turn.
func byWorkflows(t *testing.T, c ruleCase) judged {
	folder := c.prepare(t)
	said := c.asRuns(t, folder, func(step int) any {
		waits(c.Steps[step].After)
		return map[string]any{"action": "finish", "final": "go"}
	}, func(session string, steps []int) []string {
		var list []any
		deps := []any{}
		for _, i := range steps {
			turn, call := fmt.Sprintf("turn%d", i), fmt.Sprintf("call%d", i)
			list = append(list, map[string]any{"id": turn, "call": "llm.generate", "input_template": map[string]any{"task": "Is it my turn?"}, "deps": deps},
				map[string]any{"id": call, "call": c.Steps[i].Tool, "input_template": c.Steps[i].Input, "deps": []any{turn}, "on_failure": "continue", "retry": map[string]any{"max": 0}})
			deps = []any{call}
		}
		list = append(list, map[string]any{"id": "end", "call": "llm.generate", "input_template": map[string]any{"task": "Is it over?"}, "deps": deps})
		name := "w" + session
		places(t, folder, "workflows/"+name+".yaml", string(jsonvalue.Encoded(map[string]any{"name": name, "version": "1.0", "steps": list})))
		return []string{"workflows", "run", name}
	})
	t.Log(said)
	return seenIn(t, folder)
}

// TestTheSameVerdictEverywhere judges each case of the language in each place where rules hold.
func TestTheSameVerdictEverywhere(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	cases := ruleCases(t)
	for name, judge := range map[string]func(*testing.T, ruleCase) judged{
		"process": inProcess, "stdio": overStdio, "http": overTokens, "agent": byAgents, "workflow": byWorkflows,
		"claude-code": byHooks("claude-code"), "cline": byHooks("cline"), "codex": byHooks("codex"),
		"gemini-cli": byHooks("gemini-cli"), "opencode": byHooks("opencode"), "qwen-code": byHooks("qwen-code"),
	} {
		for _, each := range cases {
			t.Run(name+"/"+strings.ReplaceAll(each.Name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				if each.longest() > 10*time.Second && slices.Contains([]string{"stdio", "http", "agent", "workflow"}, name) {
					t.Skip("the clock of a process cannot be set")
				}
				require.Equal(t, each.want, judge(t, each))
			})
		}
	}
}

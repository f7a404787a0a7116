package agent_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/agent"
	"savant/engines"
	"savant/fault"
)

// person is a client that can show forms, and whoever fills them in.
type person struct {
	answer engines.Answer
	err    error
	asked  []string
}

func (p *person) caller() engines.Caller {
	return engines.Caller{Person: engines.PersonFunc(func(_ context.Context, form engines.Elicitation) (engines.Answer, error) {
		p.asked = append(p.asked, form.Message)
		return p.answer, p.err
	})}
}

// A destructive call of a run that a client ordered is made only after a person saw
// all of it and agreed.
func TestAClientsPersonIsAskedAboutADestructiveCall(t *testing.T) {
	yes := engines.Answer{Action: "accept", Content: json.RawMessage(`{"approved":true}`)}
	for name, each := range map[string]struct {
		person person
		text   string
		made   bool
		shown  string
	}{
		"yes":           {person{answer: yes}, "x", true, `test.destroy with {"text":"x"}.`},
		"unticked":      {person{answer: engines.Answer{Action: "accept", Content: json.RawMessage(`{"approved":false}`)}}, "x", false, "test.destroy"},
		"empty":         {person{answer: engines.Answer{Action: "accept"}}, "x", false, "test.destroy"},
		"declined":      {person{answer: engines.Answer{Action: "decline", Content: yes.Content}}, "x", false, "test.destroy"},
		"failing":       {person{answer: yes, err: fault.New(fault.ToolFailed, "no form")}, "x", false, "test.destroy"},
		"hidden":        {person{answer: yes}, "a\u202eb\U000e0041", true, `{"text":"a\u{202e}b\u{e0041}"}`},
		"too long":      {person{answer: yes}, strings.Repeat("x", 9000) + " AND DROP DATABASE prod", false, ""},
		"nobody to ask": {person{}, "x", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, script(answer), nil)
			caller := engines.Caller{}
			if name != "nobody to ask" {
				caller = each.person.caller()
			}
			args, err := json.Marshal(map[string]any{"goal": "g", "force_tool": "test.destroy", "force_args": map[string]any{"text": each.text}, "allow": []string{"test"}})
			require.NoError(t, err)
			report, err := calledBy[agent.Report](t, w, caller, "agent.run", string(args))
			require.NoError(t, err)
			written, err := os.ReadFile(filepath.Join(w.folder, "written"))
			require.Equal(t, each.made, err == nil, "%s", written)
			if !each.made {
				require.ErrorIs(t, report.Transcript[0].Calls[0].Error, fault.ToolDenied)
			}
			if each.shown == "" {
				require.Empty(t, each.person.asked)
				return
			}
			require.Len(t, each.person.asked, 1)
			require.Contains(t, each.person.asked[0], each.shown)
		})
	}
}

// What a person declined is not asked again in the run, however often a model insists. What
// was not answered is.
func TestADeclinedCallIsNotAskedAboutAgain(t *testing.T) {
	insist := `{"action":"tool","tool_name":"test.destroy","args":{"text":"x"}}`
	for action, asked := range map[string]int{"decline": 2, "cancel": 4} {
		w := newWorld(t, script(insist, insist, `{"action":"tool","tool_name":"test.destroy","args":{"text":"y"}}`, insist, answer), nil)
		someone := &person{answer: engines.Answer{Action: action}}
		report, err := calledBy[agent.Report](t, w, someone.caller(), "agent.run", `{"goal": "g"}`)
		require.NoError(t, err)
		require.Len(t, someone.asked, asked, action)
		require.ErrorIs(t, report.Transcript[3].Calls[0].Error, fault.ToolDenied)
		require.NoFileExists(t, filepath.Join(w.folder, "written"))
	}
}

func TestToolsThatRunOthersAreAnnotatedForWhatTheyCanDo(t *testing.T) {
	for _, tool := range newWorld(t, nil, nil).runtime.Tools() {
		require.Equal(t, tool.Name == "agent.run", tool.Destructive && tool.OpenWorld, tool.Name)
	}
}

package service_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"savant/reasoning"
	"savant/reasoning/models"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a model that says its lines, and keeps what it was asked.
type scripted struct {
	name  string
	lines []string
	asked []models.Prompt
	err   error
}

func (s *scripted) Name() string { return s.name }

func (s *scripted) Generate(ctx context.Context, prompt models.Prompt) (models.Reply, error) {
	s.asked = append(s.asked, prompt)
	if s.err != nil || ctx.Err() != nil {
		return models.Reply{}, s.err
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	return models.Reply{Text: line, PromptTokens: 100, OutputTokens: 10}, nil
}

const finish = `{"action":"finish","final":"done"}`

// whole is a request with something in every section.
func whole() reasoning.Request {
	outcome := reasoning.Outcome{ToolName: "context.search", Args: json.RawMessage(`{"query":"loop"}`),
		Result: json.RawMessage(`{"rows":[{"path":"serve.go","line":12,"snippet":"for {"}]}`)}
	return reasoning.Request{SessionID: "s1", RunID: "r1", Step: 3, Goal: "Where is the loop?",
		Persona: reasoning.Persona{Name: "engineer", Text: "You look before you judge."},
		Driver:  reasoning.Driver{Version: "1.0", Text: "Follow the steps."},
		Rules:   []reasoning.Rule{{Name: "tour", Workflow: "repo_tour"}},
		Repo:    &reasoning.Repo{Name: "savant", Branch: "main", Head: "9ab4b5d", Languages: map[string]int{"YAML": 9, "Go": 200}, Files: 300, Recent: []string{"README.md"}},
		Tools: []reasoning.Tool{{Name: "context.search", Description: "Full-text search. It ranks.", ReadOnly: true,
			InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string"},"limit":{"type":"integer"}}}`)}},
		Policy: reasoning.Policy{Notes: []string{"no tool is named \"git.push\""}},
		Memory: reasoning.Memory{Summary: "Looked around.", Omitted: 1, Steps: []reasoning.Step{
			{Index: 2, Action: reasoning.ActionTool, Reasoning: "Search first.", Outcomes: []reasoning.Outcome{outcome}},
			{Index: 3, Action: reasoning.ActionTool, Reasoning: "Search again.", Outcomes: []reasoning.Outcome{outcome}}}},
		LastOutput: []reasoning.Outcome{outcome},
		Limits:     reasoning.Limits{MaxSteps: 25, StepsLeft: 23}}
}

// large is a request that overflows every section.
func large() reasoning.Request {
	request := whole()
	huge := json.RawMessage(`"` + strings.Repeat("é ", 40_000) + `"`)
	request.Goal = strings.Repeat("goal ", 4000)
	request.LastOutput = []reasoning.Outcome{{ToolName: "a.b", Result: huge}, {ToolName: "a.c", Result: huge}}
	for i := range 40 {
		request.Memory.Steps = append(request.Memory.Steps, reasoning.Step{Index: 4 + i, Action: reasoning.ActionTool, Outcomes: request.LastOutput})
		request.Tools = append(request.Tools, reasoning.Tool{Name: fmt.Sprintf("engine.tool%d", i), Description: strings.Repeat("what it does ", 30)})
		request.Policy.Notes = append(request.Policy.Notes, strings.Repeat("mind this ", 10))
	}
	for i := range 1000 {
		request.Repo.Recent = append(request.Repo.Recent, fmt.Sprintf("folder/file%d.go", i))
	}
	return request
}

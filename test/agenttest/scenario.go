package agenttest

import (
	"encoding/json"
	"fmt"

	"github.com/rogpeppe/go-internal/txtar"

	"savant/agent"
	"savant/reasoning"
)

// Scenario is a file of agent/testdata/scenarios.
type Scenario struct {
	Order   agent.RunOptions
	Policy  Policy
	Answers []json.RawMessage
	// Transcript is the expected transcript.
	Transcript string
	Archive    *txtar.Archive
}

// Policy is the policy of a scenario. Answer is what a person answers to every
// question; nil means that nobody can be asked.
type Policy struct {
	agent.Policy
	Answer        *bool
	DisableDetect bool
}

// Read reads a scenario.
func Read(file string) (Scenario, error) {
	var s Scenario
	var err error
	if s.Archive, err = txtar.ParseFile(file); err != nil {
		return s, err
	}
	into := map[string]any{"order.json": &s.Order, "approval.json": &s.Order.Approval, "policy.json": &s.Policy, "answers.json": &s.Answers}
	for _, each := range s.Archive.Files {
		if each.Name == "transcript" {
			s.Transcript = string(each.Data)
			continue
		}
		if err := json.Unmarshal(each.Data, into[each.Name]); err != nil {
			return s, fmt.Errorf("%s: %s: %w", file, each.Name, err)
		}
	}
	return s, nil
}

// Prompts are the prompts of a scenario.
func Prompts() agent.Prompts {
	return agent.Prompts{Personas: []reasoning.Persona{{Name: "engineer", Text: "You are careful."}, {Name: "reviewer", Text: "You review."},
		{Name: "writer", Text: "You write."}},
		Rules: []agent.Rule{{Name: "tour", Phrases: []string{"repository tour"}, Workflow: "repo_tour", Persona: "reviewer"},
			{Name: "bug", Phrases: []string{"fix the bug"}, Workflow: "bug_fix", ParamFromGoal: "bug"}}}
}

// Workflows are the workflows of a scenario.
func Workflows() []string {
	return []string{"hello", "repo_tour", "review_v1", "review_local"}
}

// Ending is the end of a transcript: how the run ended.
func Ending(report agent.Report) string {
	text := fmt.Sprintf("%s after %d steps, in state %s\n", report.Status, report.Steps, report.State)
	for _, each := range []string{report.Final, report.Warning} {
		if each != "" {
			text += each + "\n"
		}
	}
	if report.Error != nil {
		text += report.Error.Error() + "\n"
	}
	return text
}

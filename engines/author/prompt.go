package author

import (
	"context"
	_ "embed"
	"strings"

	"savant/engines"
	"savant/fault"
)

// promptText leads a model through the writing of a workflow; GOAL is what it is for.
//
//go:embed prompt.md
var promptText string

// maxGoal bounds the goal, in bytes.
const maxGoal = 4000

// Prompt returns the prompt author_workflow.
func Prompt() engines.Prompt {
	return engines.Prompt{Name: "author_workflow", Title: "Write a workflow with its cases", Description: "Write a workflow and its cases, and check both until they hold",
		Arguments: []engines.PromptArgument{{Name: "goal", Description: "the procedure, in a few sentences", Required: true}},
		Get: func(_ context.Context, client engines.Caller, args map[string]string) (string, error) {
			goal := strings.TrimSpace(args["goal"])
			if goal == "" || len(goal) > maxGoal {
				return "", fault.New(fault.InvalidParams, "goal: expected what the workflow is for, in 1 to %d bytes", maxGoal)
			}
			before, after, _ := strings.Cut(client.Spelled(promptText), "GOAL")
			return before + goal + after, nil
		}}
}

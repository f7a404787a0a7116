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

// adoptText leads a model through the refining of an adopted workflow; FILE is its document.
//
//go:embed adopt.md
var adoptText string

// maxGiven bounds an argument, in bytes.
const maxGiven = 4000

// Prompts returns the prompts author_workflow and adopt_procedure.
func Prompts() []engines.Prompt {
	return []engines.Prompt{
		prompt(promptText, "GOAL", engines.Prompt{Name: "author_workflow", Title: "Write a workflow with its cases", Description: "Write a workflow and its cases, and check both until they hold",
			Arguments: []engines.PromptArgument{{Name: "goal", Description: "the procedure, in a few sentences", Required: true}}}),
		prompt(adoptText, "FILE", engines.Prompt{Name: "adopt_procedure", Title: "Refine an adopted workflow", Description: "Refine what savant adopt made of a document, under the same checks",
			Arguments: []engines.PromptArgument{{Name: "file", Description: "the document, and the workflow made of it", Required: true}}}),
	}
}

// prompt returns a prompt whose text has its one argument in the place of a word.
func prompt(text, place string, made engines.Prompt) engines.Prompt {
	name := made.Arguments[0].Name
	made.Get = func(_ context.Context, client engines.Caller, args map[string]string) (string, error) {
		given := strings.TrimSpace(args[name])
		if given == "" || len(given) > maxGiven {
			return "", fault.New(fault.InvalidParams, "%s: expected %s, in 1 to %d bytes", name, made.Arguments[0].Description, maxGiven)
		}
		before, after, _ := strings.Cut(client.Spelled(text), "\n"+place+"\n")
		return before + "\n" + given + "\n" + after, nil
	}
	return made
}

package service

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/internal/redact"
	"savant/reasoning"
)

// instructions is the first section, which defines the form of the answer.
//
//go:embed instructions.md
var instructions string

// intentSchema is the schema of an answer, for services that enforce one: the
// members of schemas/reasoning_intent.json that a model fills, in a form that all
// services take.
//
//go:embed answer_schema.json
var intentSchema json.RawMessage

func writeSystem(reasoning.Request, int) string { return strings.TrimSpace(instructions) }

func writeRules(request reasoning.Request, _ int) string {
	var out strings.Builder
	for _, rule := range request.Rules {
		fmt.Fprintf(&out, "- %s: %s\n", rule.Name, rule.Workflow)
	}
	return out.String()
}

// writeLastOutput gives each outcome an equal share.
func writeLastOutput(request reasoning.Request, limit int) string {
	var out strings.Builder
	for _, outcome := range request.LastOutput {
		out.WriteString(writeOutcome(outcome, limit/len(request.LastOutput)) + "\n")
	}
	return out.String()
}

// overlap is how many bytes beyond a cut are searched for secrets, because half a
// secret would not be recognized.
const overlap = 4096

// writeOutcome writes a call and its redacted result.
func writeOutcome(outcome reasoning.Outcome, limit int) string {
	result := string(outcome.Result)
	if outcome.Error != nil {
		result = "error " + outcome.Error.Error()
	}
	text := fmt.Sprintf("%s %s\n=> %s", outcome.ToolName, outcome.Args, result)
	if Tokens(text) <= limit {
		return clean(text, limit)
	}
	shown := text[:min(len(text), 4*limit+overlap)]
	return cut(clean(shown, limit)+text[len(shown):], limit)
}

// maxParts exceeds the number of parts that share a section's limit.
const maxParts = 1 << 10

// clean redacts a text. A text without a limit is only measured, so it is returned
// unchanged.
func clean(text string, limit int) string {
	if limit >= unbounded/maxParts {
		return text
	}
	return redact.Shapes().Certain().Text(text)
}

// maxStep bounds an earlier step in the prompt, in tokens.
const maxStep = 500

// writeMemory writes the latest steps, and the number omitted. The results of the last
// step have their own section.
func writeMemory(request reasoning.Request, limit int) string {
	var kept []string
	used := 0
	missing := request.Memory.Omitted
	for i := len(request.Memory.Steps) - 1; i >= 0; i-- {
		text := writeStep(request.Memory.Steps[i], min(maxStep, limit), i == len(request.Memory.Steps)-1)
		if used += Tokens(text); used > limit-frame {
			missing += i + 1
			break
		}
		kept = append(kept, text)
	}
	slices.Reverse(kept)
	head := ""
	if missing > 0 {
		head = fmt.Sprintf("(%d earlier steps are not shown)\n", missing)
	}
	if summary := request.Memory.Summary; summary != "" {
		head += cut(redact.Shapes().Certain().Text(summary), max(0, min(maxStep, limit-used-2*frame))) + "\n"
	}
	return cut(head+strings.Join(kept, ""), limit)
}

func writeStep(step reasoning.Step, limit int, last bool) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Step %d: %s. %s\n", step.Index, step.Action, cut(step.Reasoning, limit/4))
	if last {
		return out.String()
	}
	for _, outcome := range step.Outcomes {
		out.WriteString(writeOutcome(outcome, limit/len(step.Outcomes)) + "\n")
	}
	return out.String()
}

func writeRepo(request reasoning.Request, limit int) string {
	if request.Repo == nil {
		return ""
	}
	repo := request.Repo
	var out strings.Builder
	fmt.Fprintf(&out, "%s, branch %s at %s, %d files", repo.Name, repo.Branch, repo.Head, repo.Files)
	for _, language := range slices.Sorted(maps.Keys(repo.Languages)) {
		fmt.Fprintf(&out, ", %s %d", language, repo.Languages[language])
	}
	for i, name := range repo.Recent {
		if i == 0 {
			out.WriteString("\nChanged last:")
		}
		out.WriteString("\n- " + name)
	}
	return cut(out.String(), limit)
}

func writeExtras(request reasoning.Request, limit int) string {
	var out strings.Builder
	policy := request.Policy
	for _, each := range []struct {
		holds bool
		text  string
	}{
		{policy.MustFinish, "You must finish now."},
		{policy.NoTools, "No tool may be called."},
		{policy.ReadOnly, "Nothing may be changed."},
		{policy.Stuck, "The last steps repeated themselves: do something else, or finish with what is known."},
		{request.Limits.StepsLeft == 1, "This is the last step: finish."},
	} {
		if each.holds {
			out.WriteString("- " + each.text + "\n")
		}
	}
	for _, note := range policy.Notes {
		out.WriteString("- " + note + "\n")
	}
	if request.Limits.StepsLeft > 1 {
		fmt.Fprintf(&out, "- %d steps are left.\n", request.Limits.StepsLeft)
	}
	return cut(out.String(), limit)
}

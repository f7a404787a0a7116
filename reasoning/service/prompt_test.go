package service_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/reasoning"
	"savant/reasoning/service"
	"savant/test/golden"
)

// build writes the prompt of a request for the small model.
func build(t require.TestingT, request reasoning.Request) service.Prompt {
	prompt, err := service.Build(request, service.SmallBudget, "")
	require.NoError(t, err)
	return prompt
}

func TestGoldenPrompt(t *testing.T) {
	t.Parallel()
	prompt := build(t, whole())
	text := "=== system\n" + prompt.System + "\n=== user\n" + prompt.User + "\n"
	golden.Compare(t, *update, "testdata/prompt.txt", text)
	require.Equal(t, prompt, build(t, whole()), "the same input gives the same bytes")
	require.Len(t, prompt.Description.Hash, 64)
	for _, section := range prompt.Description.Sections {
		require.Zero(t, section.Trimmed, section.Name)
	}
}

// sizes returns tokens and trimmed tokens by section.
func sizes(prompt service.Prompt) (tokens, trimmed map[string]int) {
	tokens, trimmed = map[string]int{}, map[string]int{}
	for _, section := range prompt.Description.Sections {
		tokens[section.Name], trimmed[section.Name] = section.Tokens, section.Trimmed
	}
	return tokens, trimmed
}

const slack = 20 // a section's title and the note of what was left out

// The goal is never cut; everything else is cut to its budget, and the whole never
// has more than its own. In a larger prompt the sections are larger.
func TestALargeRequestFitsTheBudget(t *testing.T) {
	t.Parallel()
	request := large()
	for _, budget := range []int{service.SmallBudget, service.LargeBudget} {
		prompt, err := service.Build(request, budget, strings.Repeat("wrong ", 2000))
		require.NoError(t, err)
		tokens, trimmed := sizes(prompt)
		require.LessOrEqual(t, prompt.Description.Tokens, budget)
		require.Contains(t, prompt.User, request.Goal)
		for name, own := range map[string]int{"tools": 2500, "last_output": 1500, "memory": 2000, "repo": 1500, "extras": 300} {
			require.LessOrEqual(t, tokens[name], own*budget/service.SmallBudget+slack, name)
			require.Positive(t, trimmed[name]+tokens[name], name)
		}
		require.Contains(t, prompt.User, "engine.tool39")
	}
	request.Goal = "short"
	require.Contains(t, build(t, request).User, "earlier steps are not shown")
}

// The sections make room in a fixed order, the next only when the one before is
// gone; those that are never cut stay whole, or the request is refused.
func TestTheOrderOfTrimming(t *testing.T) {
	t.Parallel()
	request := large()
	request.Goal = "goal"
	request.Driver.Text = ""
	whole := build(t, request)
	full, _ := sizes(whole)
	order := []string{"extras", "repo", "memory", "tools", "last_output"}
	driver := service.SmallBudget - whole.Description.Tokens
	for gone, name := range order {
		request.Driver.Text = strings.Repeat("rule", driver+full[name]/2)
		prompt := build(t, request)
		tokens, trimmed := sizes(prompt)
		require.Contains(t, prompt.System, request.Driver.Text)
		require.Zero(t, trimmed["driver"])
		require.LessOrEqual(t, prompt.Description.Tokens, service.SmallBudget)
		for i, other := range order {
			switch {
			case i < gone:
				require.Zero(t, tokens[other], "%s %s", name, other)
			case i == gone:
				require.Less(t, tokens[other], full[other])
			default:
				require.Equal(t, full[other], tokens[other], "%s %s", name, other)
			}
		}
		driver += full[name]
	}
	request.Driver.Text = strings.Repeat("rule", 8000)
	_, err := service.Build(request, service.SmallBudget, "")
	require.ErrorIs(t, err, fault.LimitExceeded)
	require.Equal(t, service.SmallBudget, fault.From(err).Extra["budget"])
}

func TestSecretsDoNotReachAModel(t *testing.T) {
	t.Parallel()
	request := whole()
	for _, planted := range []string{"Authorization: Bearer abcdefghijklmnop", "sk-ant-REDACTED", `{\"password\": \"hunter2hunter2\"}`, "postgres://ada:hunter2@host/db",
		"DB_PASSWORD=hunter2", "ghp_" + "abcdefghijklmnopqrstuvwxyz012345"} {
		raw := []byte(`"` + planted + `"`)
		request.LastOutput[0].Result, request.Memory.Steps[0].Outcomes = raw, []reasoning.Outcome{{ToolName: "a.b", Result: raw}}
		request.Memory.Summary = planted
		prompt := build(t, request)
		for _, part := range []string{"abcdefghijklmnop", "hunter2"} {
			require.NotContains(t, prompt.System+prompt.User, part)
		}
	}
}

func TestThePromptIsAFunctionOfTheRequest(t *testing.T) {
	t.Parallel()
	text := rapid.StringN(0, 3000, 12_000)
	rapid.Check(t, func(t *rapid.T) {
		request := whole()
		request.Goal, request.Memory.Summary = text.Draw(t, "goal"), text.Draw(t, "summary")
		request.Repo.Recent = rapid.SliceOfN(text, 0, 20).Draw(t, "recent")
		request.Policy.Notes = rapid.SliceOfN(text, 0, 5).Draw(t, "notes")
		prompt := build(t, request)
		require.Equal(t, prompt, build(t, request))
		require.LessOrEqual(t, prompt.Description.Tokens, service.SmallBudget)
		require.True(t, strings.HasPrefix(prompt.User, "# "))
	})
}

package service_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/reasoning"
	"savant/reasoning/service"
)

func TestGoldenPrompt(t *testing.T) {
	prompt := service.Build(whole())
	text := "=== system\n" + prompt.System + "\n=== user\n" + prompt.User + "\n"
	require.Equal(t, golden(t, "testdata/prompt.txt", text), text)
	require.Equal(t, prompt, service.Build(whole()), "the same input gives the same bytes")
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

func TestALargeRequestFitsTheBudget(t *testing.T) {
	prompt := service.Build(large())
	tokens, trimmed := sizes(prompt)
	require.LessOrEqual(t, prompt.Description.Tokens, 8000+slack)
	for name, budget := range map[string]int{"goal": 1000, "tools": 2500, "last_output": 1500, "memory": 2000, "repo": 1500, "extras": 300} {
		require.LessOrEqual(t, tokens[name], budget+slack, name)
		if name != "tools" { // they are written shorter, not cut
			require.Positive(t, trimmed[name], name)
		}
	}
	require.Contains(t, prompt.User, "engine.tool39")
	require.Contains(t, prompt.User, "earlier steps are not shown")
}

// The first four are never trimmed: extras, repo and memory make room for
// them, in this order, the next only when the one before is gone.
func TestTheOrderOfTrimming(t *testing.T) {
	request := large()
	request.Driver.Text = ""
	whole := service.Build(request)
	full, _ := sizes(whole)
	over := 8000 - whole.Description.Tokens
	for _, c := range []struct{ driver, gone int }{
		{over + full["extras"]/2, 0},
		{over + full["extras"] + full["repo"]/2, 1},
		{over + full["extras"] + full["repo"] + full["memory"]/2, 2},
		{over + 20_000, 3},
	} {
		request.Driver.Text = strings.Repeat("rule", c.driver)
		prompt := service.Build(request)
		tokens, trimmed := sizes(prompt)
		require.Contains(t, prompt.System, request.Driver.Text)
		require.Zero(t, trimmed["driver"])
		for i, name := range []string{"extras", "repo", "memory"} {
			switch {
			case i < c.gone:
				require.Zero(t, tokens[name], "%d %s", c.gone, name)
			case i == c.gone:
				require.Less(t, tokens[name], full[name])
			default:
				require.Equal(t, full[name], tokens[name], "%d %s", c.gone, name)
			}
		}
		if c.gone < 3 {
			require.LessOrEqual(t, prompt.Description.Tokens, 8000+slack)
		}
	}
}

func TestSecretsDoNotReachAModel(t *testing.T) {
	request := whole()
	for _, planted := range []string{"Authorization: Bearer abcdefghijklmnop", "sk-ant-REDACTED", `{\"password\": \"hunter2hunter2\"}`, "postgres://ada:hunter2@host/db",
		"DB_PASSWORD=hunter2", "ghp_" + "abcdefghijklmnopqrstuvwxyz012345"} {
		raw := []byte(`"` + planted + `"`)
		request.LastOutput[0].Result, request.Memory.Steps[0].Outcomes = raw, []reasoning.Outcome{{ToolName: "a.b", Result: raw}}
		request.Memory.Summary = planted
		prompt := service.Build(request)
		for _, part := range []string{"abcdefghijklmnop", "hunter2"} {
			require.NotContains(t, prompt.System+prompt.User, part)
		}
	}
}

func TestThePromptIsAFunctionOfTheRequest(t *testing.T) {
	text := rapid.StringN(0, 3000, 12_000)
	rapid.Check(t, func(t *rapid.T) {
		request := whole()
		request.Goal, request.Memory.Summary = text.Draw(t, "goal"), text.Draw(t, "summary")
		request.Repo.Recent = rapid.SliceOfN(text, 0, 20).Draw(t, "recent")
		request.Policy.Notes = rapid.SliceOfN(text, 0, 5).Draw(t, "notes")
		prompt := service.Build(request)
		require.Equal(t, prompt, service.Build(request))
		require.LessOrEqual(t, prompt.Description.Tokens, 8000+slack)
		require.True(t, strings.HasPrefix(prompt.User, "# "))
	})
}

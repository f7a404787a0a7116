package library_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"savant"
	"savant/fault"
	"savant/think/library"
)

// over returns the library of a project with a prompts.yml and other files, over the
// bundled ones.
func over(text string, others map[string]string) *library.Library {
	files := fstest.MapFS{"prompts.yml": {Data: []byte(text)}}
	for name, content := range others {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return library.New(library.Layer{Files: savant.Files}, library.Layer{Files: files})
}

func names(t *testing.T, prompts map[string]any, list string) []any {
	t.Helper()
	var found []any
	for _, each := range prompts[list].([]any) {
		found = append(found, each.(map[string]any)["name"])
	}
	return found
}

// A file that sets one thing keeps all else that is bundled.
func TestAFileThatSetsOneThingKeepsTheOthers(t *testing.T) {
	bundled, err := over("{}", nil).Prompts()
	require.NoError(t, err)
	rules, personas := names(t, bundled, "amr_rules"), names(t, bundled, "personas")

	l := over("personas:\n  - {name: pirate, text: Arr.}\n  - {name: writer, text: Short.}\n", nil)
	prompts, err := l.Prompts()
	require.NoError(t, err)
	require.Equal(t, rules, names(t, prompts, "amr_rules"))
	require.Equal(t, []any{"pirate", "writer", "engineer", "reviewer"}, names(t, prompts, "personas"))
	require.Len(t, personas, 3)
	driver, err := l.DriverPrompt(t.Context(), library.DriverPromptInput{})
	require.NoError(t, err)
	require.Equal(t, "1.1", driver.Version)

	prompts, err = over("amr_rules: [{name: tour, phrases: [show me round], workflow: repo_tour}]", nil).Prompts()
	require.NoError(t, err)
	require.Equal(t, "tour", names(t, prompts, "amr_rules")[0], "the project's rules come first")
	require.Len(t, prompts["amr_rules"], len(rules))

	l = over("agent: {latest: mine, versions: {mine: {file: mine.md, complex: true}}}", map[string]string{"prompts/mine.md": "Be quick."})
	agent, complex, err := l.AgentPrompt()
	require.NoError(t, err)
	require.True(t, complex)
	require.Equal(t, "Be quick.", agent.PromptMD)
	driver, err = l.DriverPrompt(t.Context(), library.DriverPromptInput{Version: "1.0"})
	require.NoError(t, err)
	require.NotEmpty(t, driver.PromptMD)

	_, complex, err = over("agent: {complex: true}", nil).AgentPrompt()
	require.NoError(t, err)
	require.True(t, complex)
	prompts, err = over("personas:\n", nil).Prompts()
	require.NoError(t, err)
	require.Equal(t, personas, names(t, prompts, "personas"), "nothing sets nothing")
}

func TestTheAgentsPromptIsItsOwn(t *testing.T) {
	agent, complex, err := over("{}", nil).AgentPrompt()
	require.NoError(t, err)
	require.False(t, complex)
	require.NotContains(t, agent.PromptMD, "think.")
	require.Less(t, len(agent.PromptMD), 4*1200, "it has to fit its section of the prompt")
	_, _, err = over("agent: {latest: none}", nil).AgentPrompt()
	require.ErrorIs(t, err, fault.PromptNotFound)
}

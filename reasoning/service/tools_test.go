package service_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/reasoning"
	"savant/reasoning/service"
)

// Of many tools those that fit the goal keep their descriptions, as many as there is
// room for, and none of the others is left out.
func TestTheMostFittingToolsKeepTheirDescriptions(t *testing.T) {
	t.Parallel()
	request := whole()
	request.Goal = "Which invoices were paid late?"
	request.Tools = nil
	for i := range 60 {
		request.Tools = append(request.Tools, reasoning.Tool{Name: fmt.Sprintf("shop.part_%02d", i), InputSchema: []byte(`{"properties":{"id":{"type":"string"}}}`),
			Description: fmt.Sprintf("Handles part %d of the shop. ", i) + strings.Repeat("It says so at length. ", 10)})
	}
	request.Tools[41].Description = "Lists each invoice with its dates. " + strings.Repeat("It knows when somebody paid. ", 10) + "The end."
	request.Tools[58].Description = "Tells of payments that came late. " + strings.Repeat("It counts the days. ", 10) + "The end."
	prompt, err := service.Build(request, service.SmallBudget, "")
	require.NoError(t, err)
	tools := section(t, prompt.User, "# Tools")
	require.LessOrEqual(t, service.Tokens(tools), 2500+10)
	require.Greater(t, service.Tokens(tools), 2200, "the budget is used")
	lines := strings.Split(strings.TrimSpace(tools), "\n")[1:]
	require.Len(t, lines, 60)
	whole := 0
	for i, line := range lines {
		require.True(t, strings.HasPrefix(line, fmt.Sprintf("- shop.part_%02d(id?: string)", i)), line)
		if strings.HasSuffix(line, "The end.") || strings.Count(line, "It says so") == 10 {
			whole++
		}
	}
	require.Contains(t, lines[41], "The end.")
	require.Contains(t, lines[58], "The end.")
	require.Greater(t, whole, 10)
	require.Less(t, whole, 60)
}

// section is a part of a prompt, with its title.
func section(t *testing.T, prompt, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(prompt, title+"\n")
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "\n\n# ")
	return title + "\n" + text
}

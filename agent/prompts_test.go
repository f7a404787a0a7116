package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
)

func TestAPhraseIsSaidAsWholeWords(t *testing.T) {
	for _, text := range []string{"review my changes", "Please REVIEW  my\nchanges!", "(review my changes)", "preview my changes; review my changes"} {
		require.True(t, says(text, "review my  changes"), text)
	}
	for _, text := range []string{"", "review", "preview my changes", "review my changeset", "review_my_changes", "reviewmy changes", "review my changes2"} {
		require.False(t, says(text, "review my changes"), text)
	}
	for _, text := range []string{"review mr", "Review this MR!", "please review my last pull-request mr 7"} {
		require.True(t, says(text, "review … mr"), text)
	}
	require.False(t, says("review all of what is in mr 7", "review … mr"))
	require.True(t, says("prüfe die ÄNDERUNG", "änderung"))
	require.True(t, says("die GROẞE ΛΌΓΟΣ", "große λόγος"), "letters with more than two forms")
	require.False(t, says("anything", " "))
	for _, text := range []string{"review #12", "Please review !12 now", "review 12.", "review https://github.com/ada/it/pull/12", "review https://git.example.com/a/b/-/merge_requests/7/diffs today"} {
		require.True(t, says(text, "review {request}"), text)
	}
	for _, text := range []string{"review 12 files", "review https://example.com/pull/me", "review it"} {
		require.False(t, says(text, "review {request}"), text)
	}
}

// A plain word is a branch where one is so called.
func TestAPhraseNamesABranch(t *testing.T) {
	for text, want := range map[string]bool{
		"review login": true, "please review `login` now": true, "review of login": true, "Login review": true, "review login page": false, "review logins": false, "review fix.1": true, "review fix-1": false,
	} {
		require.Equal(t, want, says(text, "= review {branch}", "login", "fix.1") || says(text, "= review of {branch}", "login") || says(text, "= {branch} review", "login"), text)
		require.False(t, says(text, "= review {branch}"), text)
	}
	require.True(t, says("in login, explain %s", "explain %s", "login"), "letters of a phrase are no place")
	require.True(t, says("review %s", "= review {branch}", "%s"))
	require.True(t, says("review the new login change", "{review} … {branch} change", "main", "login"))
}

func TestCuesAreFoundAsPeopleWriteThem(t *testing.T) {
	for _, goal := range []string{"Do not use tools.", "do not\nuse any tools", "Don’t use tools", "say hi  without\n\ttools", "Do  not use any of the tools", "never call your tools", "no\ntools, please"} {
		require.Equal(t, cues{noTools: true}, cuesOf(goal), goal)
	}
	for _, goal := range []string{"without\nsearching", "do not\u00a0search the web", "Don’t search"} {
		require.Equal(t, cues{noSearch: true}, cuesOf(goal), goal)
	}
	for _, goal := range []string{"Explain it without search", "no search, please", "Without search: what is new?", "read README.md, no search",
		"do not use search tools", "Explain the loop without search and tell me"} {
		require.Equal(t, cues{noSearch: true}, cuesOf(goal), goal)
	}
	for _, goal := range []string{"do not use context tools", "Don’t use the context tools, please", "answer without context tools", "no context tools"} {
		require.Equal(t, cues{noContext: true}, cuesOf(goal), goal)
	}
	for _, goal := range []string{"Write a page without search", "why are there no search results?", "the shop has no search engine", "What does context mean here?"} {
		require.Equal(t, cues{}, cuesOf(goal), goal)
	}
	for _, goal := range []string{"What do not-for-profit tools do?", "which tools are there?", "a page without search"} {
		require.Equal(t, cues{}, cuesOf(goal), goal)
	}
}

func TestWordsThatForbidARun(t *testing.T) {
	for _, goal := range []string{"explain it, do not run it", "Describe the tour without running anything", "don't execute any commands", "answer without a workflow",
		"no workflows, please", "never\nrun the workflow", "Don’t use a workflow", "say what it does instead of running it", "refrain from running anything", "I don't want you to start it",
		"answer from what you know, no commands", "look, but run nothing"} {
		require.True(t, cuesOf(goal).noRun, goal)
	}
	for _, goal := range []string{"fix the bug: the jobs never start", "tests do not run on Mondays", "run the workflow", "why is it not running?", "do not search", "why are there no commands in the list?"} {
		require.False(t, cuesOf(goal).noRun, goal)
	}
	for _, goal := range []string{"what is repo_tour? do not run repo_tour", "without starting the `repo_tour` workflow", "Never use workflow repo_tour.", "I do not want you to run repo_tour"} {
		require.True(t, forbids(goal, "repo_tour"), goal)
	}
	for _, goal := range []string{"run repo_tour", "do not run repo_tour_2", "do not wait, run repo_tour"} {
		require.False(t, forbids(goal, "repo_tour"), goal)
	}
}

func TestAPatternOfDenyFitsInAnyCase(t *testing.T) {
	for _, each := range []string{"git.*", "GIT.*", "Git_Status", "[G]it.?tatus"} {
		guard := newGuard(Policy{}, RunOptions{Deny: []string{each}})
		require.Equal(t, RuleDeny, guard.denies(engines.Tool{Name: "git.status", ReadOnly: true}, order{}), each)
	}
	guard := newGuard(Policy{Deny: []string{"FILES.read*"}}, RunOptions{})
	require.Equal(t, RuleDeny, guard.denies(engines.Tool{Name: "files.ReadAll", ReadOnly: true}, order{}))
}

// A goal that asks about a review does not order one, and a rule may be a question.
func TestAQuestionIsNoOrder(t *testing.T) {
	rules := []Rule{{Name: "review", Phrases: []string{"code review"}}, {Name: "intro", Phrases: []string{"what does this do"}}}
	require.Len(t, triggered(rules, "Do a code review", nil), 1)
	require.Empty(t, triggered(rules, "How does a code review work here?", nil))
	require.Len(t, triggered(rules, "What does this do?", nil), 1)
}

// A workflow is started by its name alone and by an order to run it, and never by a goal
// that asks about it or that only has its name in it.
func TestAGoalThatOrdersAWorkflow(t *testing.T) {
	names := []string{"hello", "tests", "release", "review_v1", "repo_tour"}
	for goal, want := range map[string]string{
		"hello": "hello", "Hello!": "hello", "hello, please": "hello", "run hello": "hello", "start hello": "hello", "Please run hello now.": "hello", "could you start `hello`?": "hello",
		"run the hello workflow": "hello", "run workflow hello for Ada": "hello", "use the hello workflow to greet": "hello", "execute the workflow named hello": "hello", "workflow hello": "hello",
		"RUN HELLO": "hello", "now launch hello again": "hello", "the release workflow": "release", "kick off release": "release",
		"review_v1": "review_v1", "run review_v1": "review_v1", "start review_v1 with pr 3": "review_v1", "I want you to run repo_tour on this repository": "repo_tour", "do a repo_tour": "repo_tour",
		"explain hello": "", "what does hello do": "", "say hello": "", "hello world": "", "what is the hello workflow?": "", "explain the hello workflow": "", "describe workflow hello": "",
		"how do I run review_v1?": "", "what does review_v1 do?": "", "should I run hello?": "", "run hello?": "", "hello?": "", "hello ?": "", "start review_v1 here?": "", "is hello a workflow": "", "fix the hello workflow": "", "why did review_v1 fail": "", "edit repo_tour": "",
		"run tests/unit first": "", "run the tests in pkg/x": "", "start a release branch": "", "run hello_world": "", "rerun the release notes script": "", "tell me how to run hello": "",
	} {
		require.Equal(t, want, orderedWorkflow(names, goal), goal)
	}
	for _, goal := range []string{"do not run hello", "don't start review_v1", "never run the hello workflow"} {
		require.Empty(t, orderedWorkflow(names, goal), goal)
	}
}

// A rule starts its workflow where the goal orders it, and not where it wants to be told.
func TestAnInquiryStartsNoWorkflow(t *testing.T) {
	rules := Rule{Name: "review", Phrases: []string{"code review", "summarise the repository"}}
	for goal, starts := range map[string]bool{"a code review, please": true, "can you do a code review": true, "Summarise the repository": true, "please summarise the repository": true,
		"explain the code review": false, "Please describe the code review here": false, "is there a code review": false, "Could you tell me about the code review?": false} {
		require.Equal(t, starts, rules.matches(goal, inquiry(), nil), goal)
	}
}

package cases_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/cases"
)

// What differs is written anew in its place; comments, order and what holds stay.
func TestUpdateRewritesWhatDiffers(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	const before = `# the release
workflow: main
cases:
  # a comment above
  - name: declined   # and beside
    params: {version: 1.4.0}
    answers: {status: {clean: true}, tests: {status: "it's, #fine"}, approve: {approved: false}}
    expect:
      outcome: done   # it was
      ran: [tests, status, tag]
      skipped:
      - tests
      - approve
      failed: {clean: VALIDATION_FAILED}
      asked: {approve: {message: "/1\\.4\\.0/"}}   # holds
      captures: {tree: {clean: false}, tagged: 5}
      summary: 'It''s done'
  - {name: flow, params: {version: é}, answers: {status: {clean: false}}, expect: {outcome: done, ran: status, failed: tests, outputs: {tagged: 1}}}
  - name: holds
    params: {version: 2.0.0}
    answers: {status: {clean: false}}
    expect: {outcome:  failed, ran: [ status ]}
coverage: # the end
  ignore: [{step: tag, kind: done, why: "a, b"}]
`
	const after = `# the release
workflow: main
cases:
  # a comment above
  - name: declined   # and beside
    params: {version: 1.4.0}
    answers: {status: {clean: true}, tests: {status: "it's, #fine"}, approve: {approved: false}}
    expect:
      outcome: failed   # it was
      ran: [status, tests]
      skipped:
        [tag]
      failed: {approve: APPROVAL_REQUIRED}
      asked: {approve: {message: "/1\\.4\\.0/"}}   # holds
      captures: {tree: {clean: true}}
      summary: SUMMARY
  - {name: flow, params: {version: é}, answers: {status: {clean: false}}, expect: {outcome: failed, ran: status, failed: clean, outputs: none}}
  - name: holds
    params: {version: 2.0.0}
    answers: {status: {clean: false}}
    expect: {outcome:  failed, ran: [ status ]}
coverage: # the end
  ignore: [{step: tag, kind: done, why: "a, b"}]
`
	file, err := cases.Parse("main.cases.yaml", []byte(before))
	require.NoError(t, err)
	require.NoError(t, cases.Check(file, graph))
	text, left := cases.Update(file, graph, "")
	require.Empty(t, left)
	updated, err := cases.Parse("main.cases.yaml", text)
	require.NoError(t, err, string(text))
	for _, each := range updated.Cases {
		require.Empty(t, cases.Run(updated, each, graph).Differences, each.Name)
	}
	summary := updated.Cases[0].Expect["summary"].(string)
	require.Equal(t, strings.Replace(after, "SUMMARY", `"`+summary+`"`, 1), string(text))
	again, left := cases.Update(updated, graph, "")
	require.Empty(t, left)
	require.Equal(t, string(text), string(again))

	only, _ := cases.Update(file, graph, "flow")
	require.Contains(t, string(only), "outcome: done   # it was")
	require.Contains(t, string(only), "expect: {outcome: failed, ran: status")
}

// A text behind | or > is rewritten with all of its lines, and no line more.
func TestUpdateRewritesTextsInLines(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	const begin = "workflow: main\ncases:\n  - name: x\n    params: {version: '1'}\n    answers: {status: {clean: false}}\n    expect:\n"
	for _, each := range []struct{ block, behind string }{
		{"      summary: |\n        of\n\n          lines\n", "\n      # kept\n      outcome: failed\n"},
		{"      summary: >-\r\n        of\r\n        lines\r\n", "      outcome: failed\r\n"},
		{"      summary: |+\n        of\n        lines", ""},
		{"      outputs:\n        a: |\n          # of\n", "# the end\n"},
	} {
		file, err := cases.Parse("main.cases.yaml", []byte(begin+each.block+each.behind))
		require.NoError(t, err, each.block)
		text, left := cases.Update(file, graph, "")
		require.Empty(t, left, each.block)
		made, kept := strings.CutPrefix(string(text), begin)
		require.True(t, kept, string(text))
		require.NotContains(t, made, "lines")
		require.NotContains(t, made, "# of")
		require.True(t, strings.HasSuffix(made, each.behind), made)
		updated, err := cases.Parse("main.cases.yaml", text)
		require.NoError(t, err, string(text))
		require.Empty(t, cases.Run(updated, updated.Cases[0], graph).Differences, string(text))
	}
}

// A case whose answers do not fit, or whose value has no end that can be told, is named.
func TestUpdateNamesWhatItCannotRewrite(t *testing.T) {
	graph := graphOf(t, map[string]string{"main": release})
	for name, each := range map[string]struct{ text, says string }{
		"no answer":   {"  - {name: x, params: {version: 1}, expect: {outcome: done}}\n", "parameters or answers do not fit"},
		"no param":    {"  - {name: x, expect: {outcome: done}}\n", "parameters or answers do not fit"},
		"unused":      {"  - {name: x, params: {version: '1'}, answers: {status: {clean: false}, tag: 1}, expect: {outcome: failed}}\n", "answers do not fit"},
		"block texts": {"  - name: x\n    params: {version: '1'}\n    answers: {status: {clean: false}}\n    expect:\n      summary: |2\n        of\n        lines\n", "change it by hand"},
		"comments":    {"  - name: x\n    params: {version: '1'}\n    answers: {status: {clean: false}}\n    expect:\n      summary: | # why\n        of\n        lines\n", "change it by hand"},
	} {
		file, err := cases.Parse("main.cases.yaml", []byte("workflow: main\ncases:\n"+each.text))
		require.NoError(t, err, name)
		text, left := cases.Update(file, graph, "")
		require.Len(t, left, 1, name)
		require.Contains(t, left[0].Message, each.says, name)
		require.Equal(t, 3, left[0].Line, name)
		require.Equal(t, "workflow: main\ncases:\n"+each.text, string(text), name)
	}
}

package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/rules"
)

// TestAFileOfAnotherProgram: alerts, detections and lists of other programs that lie in a
// folder called rules are left out with a warning; what may be meant for Savant is not.
func TestAFileOfAnotherProgram(t *testing.T) {
	for _, text := range []string{
		"groups:\n  - name: example\n    rules:\n      - {alert: High, expr: up == 0, for: 5m}\n",
		"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\nspec: {groups: []}\n",
		"- rule: Shell in a container\n  desc: a\n  condition: spawned_process\n- {list: a, items: [b]}\n- {macro: m, condition: c}\n",
		"title: Suspicious\nid: 5f1\nstatus: test\nlogsource: {category: process_creation}\ndetection: {condition: a}\nlevel: high\ntags: [a]\n",
		"- name: a\n  hosts: all\n  tasks: []\n",
		"extends: default\nbraces: {max: 1}\n",
	} {
		file, err := rules.Parse("rules/a.yaml", []byte(text))
		require.NoError(t, err, text)
		require.True(t, file.Foreign, text)
		set := rules.New(file)
		require.Empty(t, set.All(), text)
		found := rules.Check(set, shop)
		require.Len(t, found, 1, text)
		require.Equal(t, "warning", found[0].Severity)
		require.Equal(t, 1, found[0].Line)
	}
	for _, text := range []string{
		"rulez:\n  - {id: a, before: x.y, deny: true}\n", "rule:\n  - {id: a, before: x.y, deny: true}\n", "Rules: []\n",
		"- {id: a, before: x.y, deny: true}\n", "- {id: other}\n- {id: a, before: x.y, deny: true}\n", "", "a text\n", "evidences: {}\n", "rules: [\n",
	} {
		_, err := rules.Parse("rules/a.yaml", []byte(text))
		require.Error(t, err, text)
	}
}

package savant_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/ci"
	"savant/internal/jsonvalue"
	callrules "savant/rules"
	"savant/schemas"
	"savant/think/cases"
	"savant/think/flow"
)

// published are the schemas that savant schema prints: by kind of map where in the schema
// its keys stand, and the keys that the parser knows.
var published = map[string]struct {
	places map[string]string
	keys   map[string][]string
}{
	"workflow": {map[string]string{"workflow": "", "step": "$defs/step", "limits": "properties/limits", "defaults": "properties/defaults", "retry": "$defs/retry",
		"repeat": "$defs/step/properties/repeat", "artifact": "$defs/artifact", "source": "$defs/source", "scope": "$defs/step/properties/scope"}, flow.Keys()},
	"cases": {map[string]string{"file": "", "case": "$defs/case", "call": "$defs/call", "expect": "$defs/expect", "coverage": "properties/coverage", "excuse": "$defs/excuse"}, cases.Keys()},
	"rules": {map[string]string{"file": "", "evidence": "$defs/evidence", "requirement": "$defs/requirement/anyOf/1", "rule": "$defs/rule"}, callrules.Keys()},
	"ci":    {map[string]string{"file": "", "command": "$defs/command"}, ci.Keys()},
	// internal/settings holds the keys of settings.json to its table.
	"settings": {},
}

// at follows a path of names and numbers into a JSON value.
func at(t *testing.T, value any, path string) any {
	t.Helper()
	for name := range strings.SplitSeq(path, "/") {
		if list, is := value.([]any); is {
			require.Less(t, int(name[0]-'0'), len(list), path)
			value = list[name[0]-'0']
		} else if object, is := value.(map[string]any); is && name != "" {
			require.Contains(t, object, name, path)
			value = object[name]
		}
	}
	return value
}

// TestSchemasHaveTheKeysOfTheParsers compares both, and asks for a description of each key.
func TestSchemasHaveTheKeysOfTheParsers(t *testing.T) {
	for name, each := range published {
		text, err := os.ReadFile("schemas/" + name + ".json")
		require.NoError(t, err)
		var schema any
		require.NoError(t, json.Unmarshal(text, &schema))
		require.Len(t, each.places, len(each.keys), name)
		for kind, place := range each.places {
			properties := at(t, schema, strings.Trim(place+"/properties", "/")).(map[string]any)
			var found []string
			for key := range properties {
				found = append(found, key)
			}
			require.ElementsMatch(t, each.keys[kind], found, "%s: %s", name, kind)
		}
		described(t, name, schema)
	}
	require.ElementsMatch(t, cases.Kinds(), at(t, decoded(t, "schemas/cases.json"), "$defs/excuse/properties/kind/enum"))
}

func decoded(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	value, err := jsonvalue.Decode(text)
	require.NoError(t, err)
	return value
}

// described requires a description of every property but those of conditions, which
// restrict keys that are described elsewhere. A key that only refers to another one of the
// file has that one's.
func described(t *testing.T, where string, value any) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, each := range value {
			described(t, where, each)
		}
	case map[string]any:
		for key, each := range value {
			if key == "if" || key == "then" || key == "else" || key == "dependentSchemas" || key == "not" {
				continue
			}
			properties, is := each.(map[string]any)
			for name, property := range properties {
				shape, _ := property.(map[string]any)
				reference, _ := shape["$ref"].(string)
				if is && key == "properties" && name != "$schema" && !strings.HasPrefix(reference, "#/properties/") && !strings.Contains(where, "prices") {
					require.NotEmpty(t, shape["description"], "%s/properties/%s", where, name)
				}
			}
			described(t, where+"/"+key, each)
		}
	}
}

// checked returns the published schema of a kind of file.
func checked(t *testing.T, name string) *schemas.Schema {
	t.Helper()
	set, err := schemas.Load(os.DirFS("schemas"))
	require.NoError(t, err)
	schema, err := set.Lookup(name)
	require.NoError(t, err)
	return schema
}

func yamlOf(t *testing.T, text string) any {
	t.Helper()
	value, err := flow.ReadYAML("file.yaml", []byte(text))
	require.NoError(t, err, text)
	return value
}

// TestFilesFitTheirPublishedSchemas checks the bundled files, the templates of new ones,
// and the examples of the documents.
func TestFilesFitTheirPublishedSchemas(t *testing.T) {
	workflow, tests := checked(t, "workflow"), checked(t, "cases")
	count := 0
	for _, pattern := range []string{"workflows/*.yaml", "cmd/savant/commands/workflows/templates/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			schema := workflow
			if strings.HasSuffix(file, ".cases.yaml") {
				schema = tests
			}
			require.NoError(t, schema.Check(yamlOf(t, strings.ReplaceAll(string(text), "NAME", "name"))), file)
			count++
		}
	}
	require.Greater(t, count, 30)
	for name, page := range map[string]string{"cases": "docs/testing.md", "rules": "docs/rules.md", "ci": "docs/ci.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(text))[1]
		require.NoError(t, checked(t, name).Check(yamlOf(t, example)), page)
	}
	files, err := filepath.Glob("test/rules/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if parsed, err := callrules.Parse(file, text); err == nil && len(parsed.Rules) > 0 {
			require.NoError(t, checked(t, "rules").Check(yamlOf(t, string(text))), file)
		}
	}
}

// TestSchemasFindSeededMistakes takes a good file of each kind and spoils one thing.
func TestSchemasFindSeededMistakes(t *testing.T) {
	good := map[string]string{
		"workflow": "{name: a, version: '1', limits: {items: 5}, steps: [{id: b, call: git.log, retry: {max: 1}, on_failure: continue, join: any}], artifacts: [{name: x, from: params}]}",
		"cases":    "{workflow: a, cases: [{name: b, answers: {c: 1}, expect: {outcome: done, ran: [c], outputs: none}}], coverage: {ignore: [{step: c, kind: done, why: because}]}}",
		"rules":    "{facts: {most: 5}, evidence: {order: {last: orders.get, within: 8h}}, rules: [{id: b, before: pay.refund, require: [{needs: order, that: 'true'}], at_most: 2, per: input.to, scope: project, mode: warn}]}",
		"ci":       "{commands: {tests: {command: [go, test], dir: sub, env: {A: b}, timeout: 10m, args: ['-v'], parser: junit, report: out.xml}}}",
		"settings": "{mcp_service: think, llm: {slm_model: 'ollama:x'}}",
	}
	spoilt := map[string][]string{ // "what, with what"
		"workflow": {"name: a>nam: a", "version: '1'>version: ''", "items: 5>items: 0", "items: 5>itms: 5", "id: b>id: 1b", "call: git.log>call: git", "call: git.log>cal: git.log",
			"max: 1>max: -1", "max: 1>times: 1", "continue>ignore", "join: any>join: some", "from: params>from: ''", "from: params>frm: params", "steps: [{>stps: [{"},
		"cases": {"workflow: a>workflow: 1", "cases: [>case: [", "name: b>nam: b", "name: b>name: ''", "answers: {c: 1}>answers: [1]", "outcome: done>outcome: ok", "outcome: done>outcom: done",
			"ran: [c]>ran: 5", "outputs: none>outputs: some", "kind: done>kind: finished", "why: because>wy: because", "step: c>step: ''", "ignore: [>excuse: ["},
		"rules": {"facts: {most: 5}>facts: 5", "last: orders.get>lst: orders.get", "within: 8h>within: 8", "id: b>id: 'b c'", "before: pay.refund>befor: pay.refund", "needs: order>need: order",
			"at_most: 2>at_most: 0", "at_most: 2, >", "scope: project>scope: world", "mode: warn>mode: loud", "rules: [{>rule: [{", "at_most: 2>at_most: 2, once: true", "mode: warn>deny: false"},
		"ci": {"commands: {>command: {", "command: [go, test]>command: go test", "command: [go, test]>command: []", "dir: sub>dir: /sub", "dir: sub>dir: ../sub", "A: b>A: 1", "A: b>1A: b",
			"timeout: 10m>timeout: 10", "parser: junit>parser: xunit", "parser: junit>parser: tap", ", report: out.xml>", "tests: {>'-t': {", "args: ['-v']>args: '-v'"},
		"settings": {"mcp_service: think>mcp_services: think", "slm_model: 'ollama:x'>slm: x", "llm: {>lm: {"},
	}
	for name, text := range good {
		schema := checked(t, name)
		require.NoError(t, schema.Check(yamlOf(t, text)), name)
		for _, each := range spoilt[name] {
			what, with, _ := strings.Cut(each, ">")
			require.Equal(t, 1, strings.Count(text, what), each)
			require.Error(t, schema.Check(yamlOf(t, strings.Replace(text, what, with, 1))), "%s: %s", name, each)
		}
	}
}

package reasoning_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/schemas"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write the golden files anew")

// published returns a schema of the folder schemas.
func published(t testing.TB, name string) *schemas.Schema {
	t.Helper()
	set, err := schemas.Load(os.DirFS("../schemas"))
	require.NoError(t, err)
	schema, err := set.Lookup(name)
	require.NoError(t, err)
	return schema
}

// whole is a request with every member there is.
func whole() reasoning.Request {
	search := reasoning.Outcome{ToolName: "context.search", Args: json.RawMessage(`{"query":"loop"}`),
		Result: json.RawMessage(`{"rows":[{"path":"serve.go","line":12,"snippet":"for {","score":1.5}]}`)}
	return reasoning.Request{SessionID: "s1", RunID: "r1", Step: 3, Goal: "Where is the loop?",
		Persona: reasoning.Persona{Name: "engineer", Text: "You look before you judge."},
		Driver:  reasoning.Driver{Version: "1.0", Hash: "ab12", Text: "Follow the steps."},
		Rules:   []reasoning.Rule{{Name: "tour", Workflow: "repo_tour"}},
		Repo:    &reasoning.Repo{Name: "savant", Branch: "main", Head: "9ab4b5d", Languages: map[string]int{"Go": 200, "YAML": 9}, Files: 300, Recent: []string{"README.md"}},
		Tools: []reasoning.Tool{{Name: "context.search", Title: "Search", Description: "Full-text search.", ReadOnly: true, Idempotent: true,
			InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}`)},
			{Name: "files.delete", Description: "Deletes a file.", Destructive: true}},
		Policy: reasoning.Policy{Model: reasoning.ModelLLM, ReadOnly: true, NoTools: true, MustFinish: true, Stuck: true, Notes: []string{"no tool is named \"git.push\""}},
		Memory: reasoning.Memory{Summary: "Looked around.", Omitted: 1, Steps: []reasoning.Step{
			{Index: 2, Action: reasoning.ActionTool, Reasoning: "Search first.", Outcomes: []reasoning.Outcome{search,
				{ToolName: "context.read", Result: json.RawMessage(`"{\"path\":"`), Cut: true},
				{ToolName: "git.log", Error: fault.New(fault.ToolFailed, "git.log took too long")}}}}},
		LastOutput: []reasoning.Outcome{search},
		Limits:     reasoning.Limits{MaxSteps: 25, StepsLeft: 23, MaxCalls: 8, TimeoutMS: 5000}}
}

// TestGoldenRequests holds how a request travels, byte for byte, and that it
// fits the published schema.
func TestGoldenRequests(t *testing.T) {
	schema := published(t, "reasoning_request")
	for name, request := range map[string]reasoning.Request{"whole": whole(), "smallest": {RunID: "r1", Step: 1, Goal: "anything"}} {
		body, err := request.Encode()
		require.NoError(t, err)
		value, err := jsonvalue.Decode(body)
		require.NoError(t, err)
		require.NoError(t, schema.Check(value))
		var back reasoning.Request
		require.NoError(t, json.Unmarshal(body, &back))
		again, err := back.Encode()
		require.NoError(t, err)
		require.Equal(t, string(body), string(again))

		var indented bytes.Buffer
		require.NoError(t, json.Indent(&indented, body, "", "  "))
		indented.WriteByte('\n')
		golden.Compare(t, *update, filepath.Join("testdata", "request_"+name+".json"), indented.String())
	}
}

func TestTheSchemasRefuse(t *testing.T) {
	intent, request := published(t, "reasoning_intent"), published(t, "reasoning_request")
	for _, bad := range []string{`{}`, `{"action":"tool"}`, `{"action":"tool","calls":[]}`, `{"action":"finish"}`, `{"action":"reason"}`, `{"action":"error"}`,
		`{"action":"dance"}`, `{"action":"tool","tool_name":"a.b","args":"{}"}`} {
		value, err := jsonvalue.Decode([]byte(bad))
		require.NoError(t, err)
		require.ErrorIs(t, intent.Check(value), fault.ValidationFailed, bad)
		require.ErrorIs(t, request.Check(value), fault.ValidationFailed, bad)
	}
}

// TestTheOpenAPIPage shows that the page's schemas are the published files, and
// holds its examples against them.
func TestTheOpenAPIPage(t *testing.T) {
	data, err := os.ReadFile("../docs/reasoning-api.yaml")
	require.NoError(t, err)
	var decoded any
	require.NoError(t, yaml.Unmarshal(data, &decoded))
	text, err := jsonvalue.Encode(decoded)
	require.NoError(t, err)
	var page struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]struct {
			Post struct {
				RequestBody struct {
					Content map[string]struct {
						Examples map[string]struct{ Value any }
					}
				} `json:"requestBody"`
				Responses map[string]struct {
					Content map[string]struct {
						Examples map[string]struct{ Value any }
					}
				}
			}
		}
		Components struct{ Schemas map[string]any }
	}
	require.NoError(t, json.Unmarshal(text, &page))
	require.Equal(t, "3.1.0", page.OpenAPI)
	require.Equal(t, reasoning.Endpoint, "/agent_intent")
	post := page.Paths[reasoning.Endpoint].Post
	for component, c := range map[string]struct {
		file     string
		examples map[string]struct{ Value any }
	}{
		"Request": {"reasoning_request", post.RequestBody.Content["application/json"].Examples},
		"Intent":  {"reasoning_intent", post.Responses["200"].Content["application/json"].Examples},
	} {
		schema := published(t, c.file)
		require.Equal(t, map[string]any{"$ref": "../schemas/" + c.file + ".json"}, page.Components.Schemas[component])
		require.NotEmpty(t, c.examples)
		for name, example := range c.examples {
			require.NoError(t, schema.Check(example.Value), name)
			raw, err := json.Marshal(example.Value)
			require.NoError(t, err)
			if component == "Intent" {
				got, err := reasoning.ParseIntent(raw, nil)
				require.NoError(t, err, name)
				require.Empty(t, got.Repairs, name)
			}
		}
	}
}

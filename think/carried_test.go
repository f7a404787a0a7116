package think_test

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/think"
)

// The result of a mounted tool is one value, whoever carries it: by the receipt of the
// call, as the server gave it, and as Savant replied with it.
func TestAResultIsTheSameWhoeverCarriesIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ blocks, structured, value string }{
		"two texts":         {`[{"type":"text","text":"notes"},{"type":"text","text":"readme"}]`, "", `{"text":"notes\nreadme"}`},
		"two objects":       {`[{"type":"text","text":"{\"a\":1}"},{"type":"text","text":"{\"a\":2}"}]`, "", `{"text":"{\"a\":1}\n{\"a\":2}"}`},
		"image and object":  {`[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"text","text":"{\"a\":1}"}]`, "", `{"a":1}`},
		"nothing":           {`[]`, "", `{"text":""}`},
		"no content":        {``, "", `{"text":""}`},
		"a list":            {`[{"type":"text","text":"[1,{\"a\":2}]"}]`, "", `[1,{"a":2}]`},
		"an object":         {`[{"type":"text","text":" {\"a\": 1.0} "}]`, "", `{"a":1}`},
		"a fenced object":   {"[{\"type\":\"text\",\"text\":\"```json\\n{\\\"a\\\":1}\\n```\"}]", "", `{"a":1}`},
		"a number":          {`[{"type":"text","text":"42"}]`, "", `{"text":"42"}`},
		"an empty text":     {`[{"type":"text","text":""},{"type":"text","text":"b"}]`, "", `{"text":"\nb"}`},
		"an image":          {`[{"type":"image","data":"AA==","mimeType":"image/png"}]`, "", `{"text":""}`},
		"a resource":        {`[{"type":"text","text":"found"},{"type":"resource","resource":{"uri":"file:///a","text":"its text"}}]`, "", `{"text":"found\nits text"}`},
		"a resource, JSON":  {`[{"type":"resource","resource":{"uri":"file:///a.json","mimeType":"application/json","text":"{\"a\":1}"}}]`, "", `{"a":1}`},
		"a resource, bytes": {`[{"type":"resource","resource":{"uri":"file:///a.bin","blob":"AA=="}}]`, "", `{"text":"file:///a.bin"}`},
		"a link":            {`[{"type":"resource_link","uri":"file:///a","name":"a"}]`, "", `{"text":"a file:///a"}`},
		"structured":        {`[{"type":"text","text":"other"}]`, `{"n":1}`, `{"n":1}`},
		"structured null":   {`[{"type":"text","text":"t"}]`, `null`, `{"text":"t"}`},
		"a result inside":   {`[]`, `{"content":[{"type":"text","text":"inner"}]}`, `{"content":[{"type":"text","text":"inner"}]}`},
		"another's receipt": {`[{"type":"text","text":"t"},{"type":"text","text":"{\"_receipt\":\"abcd2345\"}"}]`, "", `{"text":"t"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			place(t, root, filepath.Join("workflows", "w.yaml"), []byte("name: w\nversion: \"1.0\"\nsteps: [{id: t, call: m.list_files, capture_as: t}]\noutputs: {t: \"{{ t }}\"}\n"))
			w, err := openWorld(root)
			require.NoError(t, err)
			defer w.close()
			content, err := engines.NewContent(json.RawMessage(c.structured), json.RawMessage(c.blocks))
			require.NoError(t, err)
			require.NoError(t, w.registry.Add(engines.Bind("m.list_files", "Lists.", func(context.Context, struct{}) (any, error) { return content, nil })))
			blocks := json.RawMessage(cmp.Or(c.blocks, "[]"))
			whole, replied := map[string]json.RawMessage{"content": blocks}, map[string]json.RawMessage{"content": blocks}
			if c.structured != "" {
				whole["structuredContent"] = json.RawMessage(c.structured)
			}
			if len(content.Structured) > 0 {
				replied["structuredContent"] = content.Structured
			}
			for run, answer := range map[string]func(*think.NextInput){
				"receipt": func(in *think.NextInput) {
					result, err := w.registry.Invoke(t.Context(), engines.Call{}, "m.list_files", nil)
					require.NoError(t, err)
					in.ResultRef = result.Receipt
				},
				"given":   func(in *think.NextInput) { in.ResultSnapshot = encoded(t, whole) },
				"replied": func(in *think.NextInput) { in.ResultSnapshot = encoded(t, replied) },
			} {
				_, err := w.engine.Plan(t.Context(), think.PlanInput{Workflow: "w", RunID: run})
				require.NoError(t, err)
				in := think.NextInput{RunID: run, StepID: "t"}
				answer(&in)
				_, err = w.engine.Next(t.Context(), in)
				require.NoError(t, err, run)
				out, err := w.engine.StateGet(t.Context(), think.StateGetInput{RunID: run, Var: "t"})
				require.NoError(t, err)
				require.JSONEq(t, c.value, string(out.Value), run)
			}
		})
	}
}

func encoded(t *testing.T, value any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return data
}

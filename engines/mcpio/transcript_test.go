package mcpio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines"
	"savant/engines/mcpio"
	"savant/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Every testdata/*.transcript is a conversation with one server: "> " is a
// line sent, "< " a line it must answer with, "#" a comment. The next line is
// sent when the reply to the one before has come.
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.transcript")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".transcript"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			got := replay(t, string(want))
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(want), got)
		})
	}
}

// replay sends what a transcript sends and returns it with the real answers.
func replay(t *testing.T, script string) string {
	t.Helper()
	w := dial(t, exhibition(t))
	var out bytes.Buffer
	note := func(lines ...string) {
		for _, text := range lines {
			out.WriteString("< " + requestState.ReplaceAllString(text, `"requestState":"…"`) + "\n")
		}
	}
	for _, text := range splitLines(script) {
		if strings.HasPrefix(text, "< ") {
			continue
		}
		out.WriteString(text + "\n")
		sent, isSent := strings.CutPrefix(text, "> ")
		if !isSent {
			continue
		}
		w.send(sent)
		for answered := !wantsReply(sent); !answered; {
			got := w.next()
			note(got)
			var m message
			require.True(t, json.Unmarshal([]byte(got), &m) != nil || m.Method == "" || m.ID == nil, "the server asks: %s", got)
			answered = m.Method == ""
		}
	}
	rest, err := w.rest()
	require.NoError(t, err)
	note(rest...)
	return out.String()
}

// requestState is random.
var requestState = regexp.MustCompile(`"requestState":"[^"]+"`)

// wantsReply tells whether a line gets a reply: what is not a message does.
func wantsReply(sent string) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if strings.TrimSpace(sent) == "" {
		return false
	}
	return json.Unmarshal([]byte(sent), &m) != nil || m.ID != nil || m.Method == ""
}

// exhibition is a server with some of everything.
func exhibition(t *testing.T) mcpio.Options {
	t.Helper()
	strict := tool("test.add", func(_ context.Context, _ engines.Call, args json.RawMessage) (any, error) {
		var in struct{ A, B int }
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, err
		}
		return map[string]int{"sum": in.A + in.B}, nil
	})
	strict.Input = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`)
	strict.Output = json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}`)
	strict.ReadOnly, strict.Idempotent, strict.Eager = true, true, true
	steps := tool("test.steps", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		if report := call.Progress; report != nil {
			for i := range 3 {
				report(float64(i+1), 3, "step")
			}
		}
		return []string{"a", "b"}, nil
	})
	o := options(t, append(failing(), echo(), strict, steps, asking())...)
	o.Offer = offer()
	return o
}

// asking is a tool that asks the person for a name.
func asking() engines.Tool {
	return tool("test.ask", func(ctx context.Context, call engines.Call, _ json.RawMessage) (any, error) {
		ask := call.Person
		if ask == nil {
			return map[string]any{"asked": false}, nil
		}
		answer, err := ask.Ask(ctx, engines.Elicitation{Message: "Your name?",
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, err
		}
		return map[string]any{"action": answer.Action, "content": answer.Content}, nil
	})
}

func offer() engines.Offer {
	return engines.Offer{
		Instructions: "Read the driver prompt first.",
		Prompts: func(context.Context) ([]engines.Prompt, error) {
			return []engines.Prompt{
				{Name: "driver", Title: "Driver", Description: "How to be guided",
					Get: func(context.Context, engines.Caller, map[string]string) (string, error) { return "Follow.", nil }},
				{Name: "hello", Description: "Say hello", Arguments: []engines.PromptArgument{
					{Name: "name", Description: "Whom to greet", Required: true}, {Name: "times"}},
					Get: func(_ context.Context, _ engines.Caller, args map[string]string) (string, error) {
						if args["name"] == "nobody" {
							return "", fault.New(fault.InvalidParams, "nobody is not a name")
						}
						return "Hello " + args["name"] + args["times"], nil
					}},
			}, nil
		},
		Resources: func(context.Context) ([]engines.Resource, error) {
			return []engines.Resource{{URI: "savant://workflows/hello", Name: "hello", Title: "Hello", MIMEType: "text/yaml"}}, nil
		},
		ResourceTemplates: []engines.ResourceTemplate{
			{URITemplate: "savant://workflows/{name}", Name: "workflow", Description: "A workflow", MIMEType: "text/yaml"}},
		ReadResource: func(_ context.Context, uri string) (string, string, error) {
			switch uri {
			case "savant://workflows/hello":
				return "name: hello\n", "text/yaml", nil
			case "savant://broken":
				return "", "", errPlain
			}
			return "", "", fault.New(fault.UnknownWorkflow, "no resource %s", uri)
		},
		Complete: func(_ context.Context, ref, argument, prefix string, chosen map[string]string) ([]string, error) {
			if ref == "unknown" {
				return nil, fault.New(fault.PromptNotFound, "no prompt unknown")
			}
			return []string{ref + "/" + argument + "/" + prefix + "/" + chosen["name"]}, nil
		},
		Watch: func(ctx context.Context, _ func(string)) error {
			<-ctx.Done()
			return nil
		},
	}
}

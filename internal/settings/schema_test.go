package settings_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write schemas/settings.json and the golden files anew")

const schemaFile = "../../schemas/settings.json"

// blocks are the nested objects of the file of settings.
var blocks = map[string]string{
	"agent":        "What the agent may do.",
	"mongo":        "The database that several machines share.",
	"agent.prompt": "How large the prompts of the built-in reasoning service may be.",
	"llm":          "The models of the built-in reasoning service.",
	"reasoning":    "Who decides what an agent does.",
	"telemetry":    "What is logged, and where traces go.",
	"hub":          "Whom the hub tells that a person is asked.",
}

// TestTheSchemaIsTheTable holds schemas/settings.json and the table together:
// keys, types, bounds, defaults and what is said of them.
func TestTheSchemaIsTheTable(t *testing.T) {
	golden.Compare(t, *update, schemaFile, string(schema(t)))
}

// object is a JSON object that keeps its order.
type object struct {
	names  []string
	values map[string]any
}

func (o *object) set(name string, value any) *object {
	if o.values == nil {
		o.values = map[string]any{}
	}
	o.names = append(o.names, name)
	o.values[name] = value
	return o
}

func (o *object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for i, name := range o.names {
		out.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&out, "%q:", name)
		if err := encoder.Encode(o.values[name]); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func schema(t *testing.T) []byte {
	t.Helper()
	properties := new(object).set("$schema", new(object).set("type", "string").set("description", "The JSON Schema of this file, for editors."))
	nested := map[string]*object{}
	for _, row := range settings.Table() {
		if row.NotInFile != "" {
			continue
		}
		within := properties
		parts := strings.Split(row.Key, ".")
		for i := range len(parts) - 1 {
			block := strings.Join(parts[:i+1], ".")
			if nested[block] == nil {
				require.NotEmpty(t, blocks[block], block)
				nested[block] = new(object)
				within.set(parts[i], new(object).set("type", "object").set("description", blocks[block]).
					set("additionalProperties", false).set("properties", nested[block]))
			}
			within = nested[block]
		}
		name := parts[len(parts)-1]
		within.set(name, property(t, row))
		if camel := camelCase(name); camel != name {
			within.set(camel, new(object).set("$ref", "#/properties/"+strings.Join(parts, "/properties/")))
		}
	}
	whole := new(object).set("$schema", "https://json-schema.org/draft/2020-12/schema").
		set("title", "Settings of Savant").
		set("description", "The file config/settings.json under SAVANT_PATH. A variable of the environment comes before it, and a flag before both.").
		set("type", "object").set("additionalProperties", false).set("properties", properties)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(whole))
	return out.Bytes()
}

// camelCase writes a name in the other spelling of the file.
func camelCase(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}

func property(t *testing.T, row settings.Setting) *object {
	t.Helper()
	made := new(object)
	text := new(object).set("type", "string")
	standard := settings.Value{Setting: row, Text: row.Default}.JSON()
	switch row.Kind {
	case settings.Number:
		made.set("type", "integer").set("minimum", row.Min).set("maximum", row.Max)
	case settings.Switch:
		made.set("type", "boolean")
	case settings.List:
		made.set("type", []string{"string", "array"}).set("items", text)
		standard = row.Default
	case settings.Folders:
		made.set("type", []string{"string", "array"}).set("items", text)
	case settings.PriceList:
		price := new(object).set("type", "number").set("minimum", 0)
		made.set("type", "object").set("propertyNames", new(object).set("pattern", `\S`)).set("additionalProperties", new(object).set("type", "object").
			set("required", []string{"input", "output"}).set("additionalProperties", false).
			set("properties", new(object).set("input", price).set("output", price)))
	default:
		made.set("type", "string")
	}
	if len(row.Allowed) > 0 {
		allowed := row.Allowed
		if row.Default == "" {
			allowed = append([]string{""}, allowed...)
		}
		made.set("enum", allowed)
	}
	if row.Default != "" {
		made.set("default", standard)
	}
	doc := row.Doc
	if row.Kind == settings.Folders {
		doc = strings.Replace(doc, ", separated as in PATH", "; relative to SAVANT_PATH", 1)
	}
	if row.Env != "" {
		doc += " (" + row.Env + ")"
	}
	made.set("description", doc)
	if row.Secret {
		made.set("writeOnly", true)
	}
	return made
}

// TestBoundsHold keeps what the schema says of numbers true, and the kinds of
// rows too.
func TestBoundsHold(t *testing.T) {
	for _, row := range settings.Table() {
		accepts := func(value string) bool {
			given := func(each settings.Setting) (string, bool) { return value, each.Key == row.Key }
			_, err := settings.Load(given, from(nil), everybody)
			return err == nil
		}
		switch row.Kind {
		case settings.Number:
			require.Less(t, row.Min, row.Max, row.Key)
			for value, fits := range map[int]bool{row.Min - 1: false, row.Min: true, row.Max: true, row.Max + 1: false} {
				require.Equal(t, fits, accepts(strconv.Itoa(value)), "%s=%d", row.Env, value)
			}
			require.False(t, accepts("many"), row.Env)
		case settings.Switch:
			require.True(t, accepts("true") && accepts("false") && !accepts("perhaps"), row.Env)
		}
		for _, value := range row.Allowed {
			require.True(t, accepts(value), "%s=%s", row.Env, value)
		}
		if len(row.Allowed) > 0 {
			require.False(t, accepts("none of them"), row.Env)
		}
		if row.SentTo != "" {
			require.True(t, row.Secret, row.Key)
			require.True(t, isAddress(row.SentTo), row.SentTo)
		}
	}
}

func isAddress(key string) bool {
	for _, row := range settings.Table() {
		if row.Key == key {
			return row.Kind == settings.Address
		}
	}
	return false
}

// topics are the sections of the document, by the first word of a key; a key of one word
// is of the first.
var topics = []struct{ title, keys string }{
	{"The folder and the server", "mcp_service savant_path enforce git_roots repos shown_files trust"},
	{"Who decides", "reasoning llm"}, {"The agent", "agent"}, {"Logs and traces", "telemetry"},
	{"Runs on several machines", "store env mongo"}, {"MCP over HTTP, and the hub", "http hub"},
}

// TestTheDocumentListsEverySetting writes the table of docs/configuration.md from the
// settings.
func TestTheDocumentListsEverySetting(t *testing.T) {
	var page strings.Builder
	listed := 0
	for _, topic := range topics {
		fmt.Fprintf(&page, "### %s\n\n| variable | flag | in the file | default | meaning |\n| --- | --- | --- | --- | --- |\n", topic.title)
		for _, row := range settings.Table() {
			first, _, _ := strings.Cut(row.Key, ".")
			if !slices.Contains(strings.Fields(topic.keys), first) {
				continue
			}
			key, flag := row.Key, row.Flag
			if row.NotInFile != "" {
				key = ""
			}
			if flag != "" {
				flag = "--" + flag
			}
			meaning := strings.ReplaceAll(row.Doc, "|", "\\|")
			if len(row.Allowed) > 0 {
				meaning += "; one of `" + strings.Join(row.Allowed, "`, `") + "`"
			}
			fmt.Fprintf(&page, "| %s | %s | %s | %s | %s |\n", code(row.Env), code(flag), code(key), code(row.Default), meaning)
			listed++
		}
		page.WriteString("\n")
	}
	require.Len(t, settings.Table(), listed, "a setting belongs to no topic, or to two")
	golden.Section(t, *update, "../../docs/configuration.md", "settings", page.String())
}

// code is a text as code, or a dash where there is none.
func code(text string) string {
	if text == "" {
		return "–"
	}
	return "`" + text + "`"
}

var example = regexp.MustCompile("(?s)```json settings\n(.*?)```")

// TestTheDocumentedFileIsRead keeps the example of docs/configuration.md true.
func TestTheDocumentedFileIsRead(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	found := example.FindSubmatch(page)
	require.Len(t, found, 2)
	loaded, err := load(t, string(found[1]), nil, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"think", "git"}, loaded.Services)
	require.Equal(t, "ollama:qwen3:4b", loaded.Reasoning.SLM)
}

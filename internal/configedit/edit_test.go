package configedit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/fault"
	"savant/internal/configedit"
)

type server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

var entries = []configedit.Entry{
	{Path: []string{"mcpServers", "savant"}, Value: server{"/usr/bin/savant", []string{"mcp"}, map[string]string{"A": "<b>"}}},
	{Path: []string{"hooks", "PreToolUse"}, Own: isOwn, Value: map[string]any{"matcher": "*", "command": "/usr/bin/savant hook x"}},
}

func isOwn(element any) bool {
	object, _ := element.(map[string]any)
	command, _ := object["command"].(string)
	return strings.Contains(command, "savant hook")
}

// texts are files as people have them.
var texts = map[string]string{
	"empty object":         "{}",
	"empty object, line":   "{}\n",
	"other server":         "{\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
	"comments":             "// mine\n{\n  // servers\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"} // keep\n    // the last word\n  },\n  /* block */ \"theme\": \"dark\" // end\n}\n// after\n",
	"trailing commas":      "{\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\",},\n\t},\n\t\"hooks\": {\"PreToolUse\": [{\"command\": \"mine\"},],},\n}\n",
	"one line":             `{"mcpServers":{"other":{"command":"x"}},"theme":"dark"}`,
	"one line with commas": `{"mcpServers":{"other":{"command":"x"},},}`,
	"CRLF":                 "{\r\n    \"theme\": \"dark\",\r\n    \"hooks\": {\r\n        \"PreToolUse\": [\r\n            {\"command\": \"mine\"}\r\n        ]\r\n    }\r\n}\r\n",
	"byte order mark":      "\xef\xbb\xbf{\n  \"theme\": \"dark\"\n}\n",
	"four spaces":          "{\n    \"theme\": \"dark\",\n    \"list\": [\n        1,\n        2\n    ]\n}",
	"hooks of others":      "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"command\": \"guard\"}\n    ],\n    \"Stop\": []\n  }\n}\n",
	"numbers and escapes":  "{\n  \"n\": 1.50, \"big\": 12345678901234567890, \"s\": \"\\u00e9\\/\", \"é\": null\n}\n",
	"comment at the brace": "{ // open\n  \"theme\": \"dark\" /* a */ , \"x\": 1 // b\n  /* c */ }",
	"comma on its line":    "{\n  \"a\": 1\n  , \"b\": 2\n}\n",
}

func TestAnEntryComesAndGoesWithoutATrace(t *testing.T) {
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			made, err := configedit.Set([]byte(text), configedit.JSON, entries)
			require.NoError(t, err)
			require.Contains(t, string(made), `"/usr/bin/savant hook x"`)
			require.Contains(t, string(made), `"<b>"`)
			require.Equal(t, strings.Count(text, "//"), strings.Count(string(made), "//"), "comments stay")
			if strings.Contains(text, "\r\n") {
				require.Equal(t, strings.Count(string(made), "\n"), strings.Count(string(made), "\r\n"))
			}
			again, err := configedit.Set(made, configedit.JSON, entries)
			require.NoError(t, err)
			require.Equal(t, string(made), string(again), "the same twice changes nothing")
			back, err := configedit.Remove(made, configedit.JSON, entries, nil)
			require.NoError(t, err)
			require.Equal(t, text, string(back))
		})
	}
}

func TestAChangedEntryIsReplacedInItsPlace(t *testing.T) {
	made, err := configedit.Set([]byte(texts["comments"]), configedit.JSON, entries)
	require.NoError(t, err)
	moved := entries[0]
	moved.Value = server{Command: "/opt/savant", Args: []string{"mcp"}}
	made, err = configedit.Set(made, configedit.JSON, []configedit.Entry{moved})
	require.NoError(t, err)
	require.Contains(t, string(made), `"command": "/opt/savant"`)
	require.NotContains(t, string(made), `"command": "/usr/bin/savant",`)
	back, err := configedit.Remove(made, configedit.JSON, entries, nil)
	require.NoError(t, err)
	require.Equal(t, texts["comments"], string(back))
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"broken":           `{"mcpServers": `,
		"not an object":    `[1, 2]`,
		"a wrong kind":     `{"mcpServers": []}`,
		"a key twice":      `{"mcpServers": {}, "mcpServers": {}}`,
		"not an array":     `{"hooks": {"PreToolUse": {}}}`,
		"invalid UTF-8":    "{\"a\": \"\xff\"}",
		"two values":       `{} {}`,
		"single quotes":    `{'a': 1}`,
		"a comment's open": `{"a": 1 /* }`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := configedit.Set([]byte(text), configedit.JSON, entries)
			require.ErrorIs(t, err, fault.InvalidParams)
		})
	}
	_, err := configedit.Set([]byte("{\n  \"mcpServers\": []\n}"), configedit.JSON, entries)
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, "2:17")
	_, err = configedit.Set([]byte("a = 1\nb = \n"), configedit.TOML, []configedit.Entry{table})
	require.ErrorIs(t, err, fault.InvalidParams)
}

func TestWhatIsKeptIsSetOnceAndStaysWhereItIsNeeded(t *testing.T) {
	list := append([]configedit.Entry{{Path: []string{"version"}, Value: 1, Keep: true}}, entries[1])
	for name, c := range map[string]struct{ earlier, more, left string }{
		"ours alone":           {"{}", "", `{}`},
		"another value":        {`{"version": 2}`, "", `{"version": 2}`},
		"a value of the file":  {`{"version": 1}`, "", `{"version": 1}`},
		"hooks added since":    {"{}", `"hooks": {"Stop": [1],`, `{"version": 1, "hooks": {"Stop": [1]}}`},
		"hooks from before":    {`{"hooks": {"Stop": []}}`, "", `{"hooks": {"Stop": []}}`},
		"something of another": {"{}", `"theme": 1, "hooks": {`, `{"theme": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := configedit.Set([]byte(c.earlier), configedit.JSON, list)
			require.NoError(t, err)
			require.Contains(t, string(made), `"version": `)
			if c.more != "" {
				made = []byte(strings.Replace(string(made), `"hooks": {`, c.more, 1))
			}
			back, err := configedit.Remove(made, configedit.JSON, list, []byte(c.earlier))
			require.NoError(t, err)
			require.JSONEq(t, c.left, string(back))
		})
	}
}

func TestNothingIsRemovedWhereNothingIs(t *testing.T) {
	for _, text := range append([]string{"", `{"mcpServers": [], "hooks": {"PreToolUse": [{"command": "mine"}]}}`}, texts["comments"]) {
		back, err := configedit.Remove([]byte(text), configedit.JSON, entries, nil)
		require.NoError(t, err)
		require.Equal(t, text, string(back))
	}
}

var table = configedit.Entry{Path: []string{"mcp_servers", "savant"}, Value: configedit.Table{
	{Key: "command", Value: `C:\bin\"savant".exe`}, {Key: "args", Value: []string{"mcp"}}, {Key: "env", Value: map[string]string{"B": "2", "A": "é\t"}}}}

func TestATableComesAndGoes(t *testing.T) {
	list := []configedit.Entry{table}
	for name, text := range map[string]string{
		"empty":         "",
		"comments":      "# mine\nmodel = \"x\" # keep\n\n[mcp_servers.other]\ncommand = \"y\"\n# end\n",
		"CRLF":          "model = \"x\"\r\n[profiles.a]\r\nb = 1\r\n",
		"a long string": "text = '''\n[mcp_servers.savant]\n'''\n",
		"array tables":  "[[hooks.PreToolUse]]\nmatcher = \"*\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			made, err := configedit.Set([]byte(text), configedit.TOML, list)
			require.NoError(t, err)
			again, err := configedit.Set(made, configedit.TOML, list)
			require.NoError(t, err)
			require.Equal(t, string(made), string(again))
			back, err := configedit.Remove(made, configedit.TOML, list, nil)
			require.NoError(t, err)
			require.Equal(t, text, string(back))
		})
	}
	changed := "[mcp_servers.savant] # mine\ncommand = \"old\"\n\n[other]\na = 1\n"
	made, err := configedit.Set([]byte(changed), configedit.TOML, list)
	require.NoError(t, err)
	require.Contains(t, string(made), "[other]\na = 1\n")
	require.NotContains(t, string(made), "old")
	_, err = configedit.Set([]byte("mcp_servers = {savant = {command = \"x\"}}\n"), configedit.TOML, list)
	require.ErrorIs(t, err, fault.InvalidParams)
	require.ErrorContains(t, err, "mcp_servers.savant", "the table to remove")
	_, err = configedit.Set([]byte("a = 1\n[b\n"), configedit.TOML, list)
	require.ErrorContains(t, err, "line 2, column 3", "where to look")
}

// TestTablesInAnyOrder: a person writes the tables of Savant's server in any way of TOML, and
// what is of others, or was added to the server, stays.
func TestTablesInAnyOrder(t *testing.T) {
	tail := "[other] # c\na = 1\nn = nan\n"
	for name, text := range map[string]string{
		"env first":         "[mcp_servers.savant.env]\nMINE = \"1\"\n[mcp_servers.savant]\ncommand = \"old\"\nslow = 7 # mine\n",
		"others between":    "[mcp_servers.savant.env]\nMINE = \"1\"\n\n[x]\ny = 1\n\n[mcp_servers.savant]\ncommand = \"old\"\nslow = 7 # mine\n\n",
		"a tool first":      "[mcp_servers.savant.tools.x]\nmode = \"ask\"\n[mcp_servers.savant]\nslow = 7 # mine\ncommand = \"old\"\nenv = {MINE = \"1\"}\n",
		"no header":         "[mcp_servers.savant.env]\nMINE = \"1\"\n[mcp_servers.savant.tools.x]\nmode = \"ask\"\n",
		"dotted":            "mcp_servers.savant.command = \"old\"\nmcp_servers.savant.args = []\nmcp_servers.savant.slow = 7 # mine\nmcp_servers.savant.env.MINE = \"1\"\nmcp_servers.savant.env.A = \"\"\nmcp_servers.savant.env.B = \"\"\n",
		"dotted in a table": "[mcp_servers]\nsavant.command = \"old\"\nsavant.args = []\nsavant.slow = 7 # mine\nsavant.env = { MINE = \"1\" }\n",
		"several lines":     "[mcp_servers.savant]\nslow = 7 # mine\nargs = [ # why\n  \"old\",\n  \"\"\"\n[other]\n\"\"\",\n]\ncommand = \"\"\"\nold\"\"\"\n[mcp_servers.savant.env]\nMINE = \"1\"\n",
		"quoted and spaced": "[ \"mcp_servers\" . 'savant' ]\n  \"command\" = \"old\"\n  slow = 7 # mine\n  env . MINE = \"1\"\n  env . A = \"\"\n  env.B = \"\"\n",
	} {
		for _, text := range []string{text + tail, strings.ReplaceAll(text+tail, "\n", "\r\n")} {
			t.Run(name, func(t *testing.T) {
				merging := table
				merging.Merge = true
				made, err := configedit.Set([]byte(text), configedit.TOML, []configedit.Entry{merging})
				require.NoError(t, err)
				for _, each := range []string{"slow = 7 # mine", "MINE = \"1\"", "mode = \"ask\"", "y = 1", "[other] # c"} {
					require.Equal(t, strings.Count(text, each), strings.Count(string(made), each), "%s in %s", each, made)
				}
				value, _, err := configedit.Get(made, configedit.TOML, table.Path)
				require.NoError(t, err)
				require.Subset(t, value, map[string]any{"command": `C:\bin\"savant".exe`, "args": []any{"mcp"}})
				require.Subset(t, value.(map[string]any)["env"], map[string]any{"A": "é\t", "B": "2", "MINE": "1"})
				again, err := configedit.Set(made, configedit.TOML, []configedit.Entry{merging})
				require.NoError(t, err)
				require.Equal(t, string(made), string(again))
				for _, each := range []string{text, string(made)} {
					back, err := configedit.Remove([]byte(each), configedit.TOML, []configedit.Entry{table}, nil)
					require.NoError(t, err)
					require.NotContains(t, string(back), "savant")
					require.Equal(t, strings.Count(text, "y = 1"), strings.Count(string(back), "y = 1"))
					require.Contains(t, strings.ReplaceAll(string(back), "\r\n", "\n"), tail)
				}
			})
		}
	}
}

func TestTablesAsClientsWriteThem(t *testing.T) {
	list := []configedit.Entry{table}
	parent := "[mcp_servers]\n# none yet\n\n[other]\na = 1\n"
	made, err := configedit.Set([]byte(parent), configedit.TOML, list)
	require.NoError(t, err)
	back, err := configedit.Remove(made, configedit.TOML, list, nil)
	require.NoError(t, err)
	require.Equal(t, parent, string(back))

	below := "[mcp_servers.\"savant\"]\ncommand = \"old\"\nslow = 7 # mine\n[mcp_servers.savant.env]\nMINE = \"1\"\n\n[mcp_servers.savant.tools.x]\nmode = \"ask\"\n\n[other]\na = 1\n"
	made, err = configedit.Set([]byte(below), configedit.TOML, list)
	require.NoError(t, err)
	require.NotContains(t, string(made), "mode")
	require.Contains(t, string(made), "[other]\na = 1\n")
	merging := table
	merging.Merge = true
	made, err = configedit.Set([]byte(below), configedit.TOML, []configedit.Entry{merging})
	require.NoError(t, err)
	for _, each := range []string{"slow = 7 # mine\n", "MINE = \"1\"\n", "B = \"2\"\n", "tools.x]\nmode = \"ask\"\n", "[other]\na = 1\n"} {
		require.Contains(t, string(made), each)
	}
	require.NotContains(t, string(made), "old")
	again, err := configedit.Set(made, configedit.TOML, []configedit.Entry{merging})
	require.NoError(t, err)
	require.Equal(t, string(made), string(again))
	back, err = configedit.Remove(made, configedit.TOML, list, nil)
	require.NoError(t, err)
	require.Equal(t, "[other]\na = 1\n", string(back))

	said := "[mcp_servers.savant]\ncommand = \"old\"\n\n# about the next one\n\n# and more\n[other]\na = 1\n"
	made, err = configedit.Set([]byte(said), configedit.TOML, list)
	require.NoError(t, err)
	back, err = configedit.Remove(made, configedit.TOML, list, nil)
	require.NoError(t, err)
	require.Equal(t, "# about the next one\n\n# and more\n[other]\na = 1\n", string(back), "what a person wrote above their own table stays")

	several := "[mcp_servers.savant]\nargs = [\n  \"old\",\n]\n"
	for _, text := range []string{several, several + "slow = 7\n"} {
		made, err := configedit.Set([]byte(text), configedit.TOML, []configedit.Entry{merging})
		require.NoError(t, err)
		require.Equal(t, strings.Count(text, "slow = 7"), strings.Count(string(made), "slow = 7"), "what a person added is not lost")
	}
	_, err = configedit.Set([]byte("[mcp_servers]\nsavant = {command = \"x\", slow = 7}\n"), configedit.TOML, []configedit.Entry{merging})
	require.ErrorIs(t, err, fault.InvalidParams, "what a person added is not lost")

	for _, text := range []string{"mcp_servers = {other = {command = \"x\"}}\n", "mcp_servers = 3\n", "[[mcp_servers]]\na = 1\n"} {
		_, err := configedit.Set([]byte(text), configedit.TOML, list)
		require.ErrorIs(t, err, fault.InvalidParams, text)
		require.ErrorContains(t, err, "write mcp_servers as a table", text)
	}
}

// Two programs of Savant each set their hook up, and both are removed.
func TestATableGoesAfterAnEdit(t *testing.T) {
	for name, c := range map[string]struct{ earlier, old, new, left string }{
		"a line with another end": {"a = 1\r\n[o]\r\nb = 1\r\n", "a = 1", "top = 1\na = 1", "top = 1\na = 1\r\n[o]\r\nb = 1\r\n"},
		"no empty line":           {"a = 1\n", "\n\n", "\n", "a = 1\n"},
		"a key at the top":        {"", "[", "a = 1\n[", "a = 1\n"},
		"switched off before": {"[mcp_servers.savant] # mine\r\nenabled = false\r\n[mcp_servers.savant.env]\r\nK = 'v'\r\n", "[", "a = 1\r\n[",
			"a = 1\r\n[mcp_servers.savant] # mine\r\nenabled = false\r\n[mcp_servers.savant.env]\r\nK = 'v'\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := configedit.Set([]byte(c.earlier), configedit.TOML, []configedit.Entry{table})
			require.NoError(t, err)
			edited := strings.Replace(string(made), c.old, c.new, 1)
			back, err := configedit.Remove([]byte(edited), configedit.TOML, []configedit.Entry{table}, []byte(c.earlier))
			require.NoError(t, err)
			require.Equal(t, c.left, string(back))
		})
	}
}

func TestEveryOwnElementIsRemoved(t *testing.T) {
	text := `{"hooks": {"PreToolUse": [{"command": "a/savant hook x"}, {"command": "mine"}, {"command": "b/savant hook x"}]}}`
	made, err := configedit.Remove([]byte(text), configedit.JSON, entries, nil)
	require.NoError(t, err)
	require.JSONEq(t, `{"hooks": {"PreToolUse": [{"command": "mine"}]}}`, string(made))
}

// What stands behind an entry does not get into the comment before it.
func TestACommentBeforeAnEntryEndsWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  // servers\n  \"mcpServers\": {\"savant\": {}}, \"theme\": \"dark\"\n}\n":                    "{\n  // servers\n   \"theme\": \"dark\"\n}\n",
		"{\n  // servers\n  \"mcpServers\": {\"savant\": {}}\n  , \"theme\": \"dark\"\n}\n":                "{\n  // servers\n   \"theme\": \"dark\"\n}\n",
		"{\"hooks\": { // mine\n  \"PreToolUse\": [{\"command\": \"savant hook\"}] }}":                     "{\"hooks\": { // mine\n   }}",
		"{\"hooks\": {\"PreToolUse\": [{}, // mine\n  {\"command\": \"savant hook\"}]}}":                   "{\"hooks\": {\"PreToolUse\": [{} // mine\n  ]}}",
		"{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    \"savant\": {} // ours\n    , \"b\": {}\n  }\n}": "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n     \"b\": {}\n  }\n}",
	} {
		made, err := configedit.Remove([]byte(text), configedit.JSON, entries, nil)
		require.NoError(t, err, text)
		require.Equal(t, want, string(made))
	}
}

// TestAnyFileIsLeftAsItWas makes files of any shape.
func TestAnyFileIsLeftAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := object(t, 3)
		made, err := configedit.Set([]byte(text), configedit.JSON, entries)
		require.NoError(t, err, text)
		again, err := configedit.Set(made, configedit.JSON, entries)
		require.NoError(t, err)
		require.Equal(t, string(made), string(again))
		back, err := configedit.Remove(made, configedit.JSON, entries, nil)
		require.NoError(t, err, string(made))
		require.Equal(t, text, string(back))
	})
}

// object draws an object with white space and comments of any kind between its parts.
func object(t *rapid.T, depth int) string {
	extra := func() string {
		return rapid.SampledFrom([]string{"", " ", "\n", "\n\t", " // c\n", "/* c */", "\r\n  "}).Draw(t, "extra")
	}
	n := rapid.IntRange(1, 4).Draw(t, "members")
	var text strings.Builder
	text.WriteString("{" + extra())
	for i := range n {
		value := rapid.SampledFrom([]string{"1", `"a//b"`, "[1, 2]", "[\n  {}\n]", "null"}).Draw(t, "value")
		if depth > 0 && rapid.Bool().Draw(t, "deeper") {
			value = object(t, depth-1)
		}
		fmt.Fprintf(&text, "%q%s:%s%s%s", fmt.Sprint("k", i), extra(), extra(), value, extra())
		if i < n-1 || rapid.Bool().Draw(t, "comma") {
			text.WriteString("," + extra())
		}
	}
	return text.String() + "}"
}

func FuzzSet(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		made, err := configedit.Set(text, configedit.JSON, entries)
		if err != nil {
			return
		}
		again, err := configedit.Set(made, configedit.JSON, entries)
		require.NoError(t, err)
		require.Equal(t, string(made), string(again))
		_, err = configedit.Remove(made, configedit.JSON, entries, nil)
		require.NoError(t, err)
	})
}

func TestWhatParsersCannotBearIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		format configedit.Format
		text   string
	}{
		"a deep list":   {configedit.JSON, `{"a]": "\"]", "b": ` + strings.Repeat("[/*]*/ ", 10_001) + strings.Repeat("]", 10_001) + "}"},
		"a deep start":  {configedit.JSON, strings.Repeat(`{"a":`, 10_001)},
		"keys":          {configedit.TOML, strings.Repeat("\na = 1", 10_001)},
		"inline tables": {configedit.TOML, "x = [" + strings.Repeat("{a = 1},", 10_001) + "]"},
		"a long key":    {configedit.TOML, strings.Repeat("a.", 30_001) + "a = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := configedit.Set([]byte(c.text), c.format, entries)
			require.ErrorIs(t, err, fault.LimitExceeded)
			_, err = configedit.Remove([]byte(c.text), c.format, entries, nil)
			require.ErrorIs(t, err, fault.LimitExceeded)
			_, _, err = configedit.Get([]byte(c.text), c.format, []string{"x"})
			require.ErrorIs(t, err, fault.LimitExceeded)
		})
	}
	made, err := configedit.Set([]byte(`{"b": [`+strings.Repeat("[],", 20_000)+`"[[["]}`), configedit.JSON, entries)
	require.NoError(t, err)
	require.Contains(t, string(made), "savant")
}

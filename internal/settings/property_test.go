package settings_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/internal/jsonvalue"
	"savant/internal/settings"
	"savant/schemas"
)

// published is schemas/settings.json as editors use it.
func published(t testing.TB) *schemas.Schema {
	t.Helper()
	set, err := schemas.Load(os.DirFS("../../schemas"))
	require.NoError(t, err)
	schema, err := set.Lookup("settings")
	require.NoError(t, err)
	return schema
}

// TestTheReaderAndTheSchemaAgree gives both the same files.
func TestTheReaderAndTheSchemaAgree(t *testing.T) {
	schema := published(t)
	folder := project(t, "{}")
	rapid.Check(t, func(t *rapid.T) {
		file := documents(t)
		text, err := json.Marshal(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(folder+"/"+settings.FileName, text, 0o600))
		value, err := jsonvalue.Decode(text)
		require.NoError(t, err)
		_, err = settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), everybody)
		if fits := schema.Check(value); fits == nil {
			require.NoError(t, err, "%s", text)
		} else {
			require.Error(t, err, "%s: %v", text, fits)
		}
	})
}

// documents are files of settings, most of them with something wrong.
func documents(t *rapid.T) map[string]any {
	file := map[string]any{}
	table := settings.Table()
	for range rapid.IntRange(0, 4).Draw(t, "settings") {
		row := rapid.SampledFrom(table).Draw(t, "row")
		value := values(t, row)
		parts := strings.Split(row.Key, ".")
		if rapid.Bool().Draw(t, "camelCase") {
			for i := range parts {
				parts[i] = camelCase(parts[i])
			}
		}
		within := file
		for _, block := range parts[:len(parts)-1] {
			below, isObject := within[block].(map[string]any)
			if !isObject {
				below = map[string]any{}
				within[block] = below
			}
			within = below
		}
		name := row.Key[strings.LastIndexByte(row.Key, '.')+1:]
		delete(within, name)
		delete(within, camelCase(name))
		within[parts[len(parts)-1]] = value
	}
	if rapid.IntRange(0, 9).Draw(t, "unknown") == 0 {
		file[rapid.SampledFrom([]string{"agnt", "llm", "$schema", "savant_path", "reasoning", "reasoning.api_url", "llm.slm_model", ""}).
			Draw(t, "key")] = rapid.SampledFrom([]any{"x", 1, map[string]any{}}).Draw(t, "what")
	}
	return file
}

// values are of the row's type or of another. Lists and folders that the
// schema cannot tell from good ones are left out.
func values(t *rapid.T, row settings.Setting) any {
	choices := []any{"x", "auto", "info", true, float64(row.Min), float64(row.Max), float64(row.Max + 1), float64(row.Min - 1), 1.5, []string{"a", "b"}}
	switch rapid.IntRange(0, 9).Draw(t, "odd") {
	case 0:
		return nil
	case 1:
		return map[string]any{}
	case 2:
		return []any{1}
	}
	return rapid.SampledFrom(choices).Draw(t, "value")
}

// FuzzFile holds that no file makes Load panic, that a secret in it is never
// shown by an error, and that what is accepted fits the published schema.
func FuzzFile(f *testing.F) {
	schema := published(f)
	for _, seed := range []string{`{}`, `{"telemetry": {"log_level": "info"}}`, "\uFEFF{\"repos\": [\"a\"]}", `{"llm": {"openai_key": "sekrit-sekrit"}}`, `{"a":1`, `[`} {
		f.Add([]byte(seed))
	}
	folder := project(f, "{}")
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(folder+"/"+settings.FileName, text, 0o600))
		loaded, err := settings.Load(from(nil), from(map[string]string{settings.EnvPath: folder}), everybody)
		if err != nil {
			return
		}
		value, err := jsonvalue.Decode([]byte(strings.TrimPrefix(string(text), "\uFEFF")))
		require.NoError(t, err)
		require.NoError(t, schema.Check(value))
		for _, each := range loaded.Values {
			require.NotContains(t, each.Redacted(), "sekrit-sekrit")
		}
	})
}

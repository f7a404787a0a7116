package think_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"savant/internal/jsonvalue"
)

// TestScenarios plays every scenario twice, each time in a new folder: through
// the registry in this process, and through a server in another over its
// standard streams. Both must give the trace that the file holds.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playScenario(t, file)
		})
	}
}

func playScenario(t *testing.T, file string) {
	s := readScenario(t, file)
	require.NotEmpty(t, s.commands(), "no script")
	here := playThrough(t, s, func(root string) driver { return openLocal(t, root) })
	if *update {
		s.record(t, here)
	} else {
		trace, _ := s.part("trace")
		require.Equal(t, trace, here, "the trace differs; run with -update and read the difference")
	}
	there := playThrough(t, s, func(root string) driver { return openRemote(t, root) })
	require.Equal(t, here, there, "over a server's standard streams the trace differs")
}

func playThrough(t *testing.T, s *scenario, open func(root string) driver) string {
	t.Helper()
	root := s.lay(t)
	p := &play{t: t, scenario: s, root: root, driver: open(root)}
	p.replies = func(command string, reply json.RawMessage) { checkSize(t, command, reply) }
	defer func() { p.driver.close(t) }()
	trace := p.all()
	requireIdentical(t, p.driver)
	return trace
}

// requireIdentical replays every run there is: each record must follow from
// those before it, whatever the scenario did.
func requireIdentical(t *testing.T, d driver) {
	t.Helper()
	var listed struct {
		Runs []struct {
			Workflow string
			Run      string `json:"run_id"`
		}
	}
	require.NoError(t, json.Unmarshal(d.call(t, "think.state.list", json.RawMessage(`{}`)), &listed))
	for _, each := range listed.Runs {
		asked, err := json.Marshal(map[string]string{"workflow": each.Workflow, "run_id": each.Run, "action": "replay"})
		require.NoError(t, err)
		var replayed struct{ Verdict string }
		answer := d.call(t, "think.debug", asked)
		require.NoError(t, json.Unmarshal(answer, &replayed))
		require.Equal(t, "identical", replayed.Verdict, "%s/%s: %.2000s", each.Workflow, each.Run, answer)
	}
}

func (s *scenario) record(t *testing.T, trace string) {
	t.Helper()
	at := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == "trace" })
	if at < 0 {
		at = len(s.archive.Files)
		s.archive.Files = append(s.archive.Files, txtar.File{Name: "trace"})
	}
	s.archive.Files[at].Data = []byte(trace)
	require.NoError(t, os.WriteFile(s.file, txtar.Format(s.archive), 0o644))
}

// pretty returns a reply with sorted keys, two spaces, and no times or hashes
// of records, which hold times.
func pretty(t *testing.T, reply json.RawMessage) string {
	t.Helper()
	value, err := jsonvalue.Decode(reply)
	require.NoError(t, err, string(reply))
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(timeless(value)))
	return out.String()
}

func timeless(value any) any {
	switch v := value.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return "<time>"
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = timeless(v[key])
		}
		if lineage, ok := v["lineage"].(map[string]any); ok {
			lineage["hash"] = "<record>"
		}
	}
	return value
}

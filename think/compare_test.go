package think_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/think/audit"
)

// TestAForgedRecordDiffers: who can write a journal can chain it anew after an
// edit, which no hash shows. What follows from the run still must, so that a
// replay finds an edit of the answer, and of each part of the reply.
func TestAForgedRecordDiffers(t *testing.T) {
	t.Parallel()
	root := keptFolder(t)
	w := openLocal(t, root)
	defer w.close(t)
	name := filepath.Join(root, ".savant", "state", "three", "r1.journal")
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(root, ".savant", "state", "three", "r1.json")))
	require.NoError(t, os.RemoveAll(filepath.Join(root, ".savant", "heads"))) // else the second place of the last hash shows it
	verdict := func(journal []byte) string {
		require.NoError(t, os.Remove(name)) // another file is read from its beginning
		require.NoError(t, os.WriteFile(name, journal, 0o600))
		out, err := audit.New(w.engine).Debug(t.Context(), audit.DebugInput{Action: "replay", Workflow: "three", RunID: "r1"})
		require.NoError(t, err, "the chain is whole")
		return out.Verdict
	}
	require.Equal(t, "identical", verdict(chained(t, whole)))
	for _, edit := range [][2]string{
		{`"kind":"result"`, `"kind":"other"`}, {`"kind":"result"`, `"kind":"person"`},
		{`"status":"running","data"`, `"status":"done","data"`}, {`"status":"issued"`, `"status":"done"`},
		{`"call":"llm.`, `"call":"evil.`}, {`"capture_as":"`, `"capture_as":"x`}, {`"attempt":1,"done"`, `"attempt":2,"done"`},
		{`"run_id":"r1"`, `"run_id":"r2"`}, {`"state":{"run_id":"r1","version":2`, `"state":{"run_id":"r1","version":9`},
		{`"ready":[]`, `"ready":["x"]`}, {`"vars":{"`, `"vars":{"x`}, {`"witness":"self"`, `"witness":"person"`},
		{`"step":"a","digest":"`, `"step":"a","digest":"0`}, {`"size":`, `"size":1`}, {`"outcome":"done"`, `"outcome":"failed"`},
		{`"outputs":{`, `"outputs":{"x":1`}, {`"type":"json","size":`, `"type":"json","size":1`}, {`"ran":`, `"ran":1`},
	} {
		require.True(t, bytes.Contains(whole, []byte(edit[0])), "%s is nowhere", edit[0])
		forged := bytes.ReplaceAll(whole, []byte(edit[0]), []byte(edit[1]))
		require.Equal(t, "differs", verdict(chained(t, forged)), "%s became %s", edit[0], edit[1])
	}
}

// chained gives each record of a journal the hashes that it has to have.
func chained(t *testing.T, journal []byte) []byte {
	var out bytes.Buffer
	last := ""
	for line := range bytes.Lines(journal) {
		var ends struct{ Prev, Hash string }
		require.NoError(t, json.Unmarshal(line, &ends))
		body := bytes.TrimSuffix(line, []byte(`,"hash":"`+ends.Hash+"\"}\n"))
		body = slices.Concat(bytes.TrimSuffix(body, []byte(`"prev":"`+ends.Prev+`"`)), []byte(`"prev":"`+last+`"}`))
		sum := sha256.Sum256(body)
		last = hex.EncodeToString(sum[:])
		out.Write(body[:len(body)-1])
		out.WriteString(`,"hash":"` + last + "\"}\n")
	}
	return out.Bytes()
}

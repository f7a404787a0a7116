//go:build !race

// The race detector keeps several times the memory.

package program

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheImportOfAPageStaysSmall: the hub takes in an export near the limit with less than
// 100 MB of memory in all.
func TestTheImportOfAPageStaysSmall(t *testing.T) {
	skipInShort(t)
	built := t.TempDir() // the program of the tests is larger, and make test collects garbage less often
	out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(built, "savant"), "../../cmd/savant").CombinedOutput()
	require.NoError(t, err, string(out))
	t.Setenv("PATH", built+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("GOGC", "")
	there, here := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(there, "workflows"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(there, "workflows", "w.yaml"), []byte(`name: w
version: "1"
steps:
  - {id: a, call: llm.generate, input_template: {task: A}, capture_as: a}
  - {id: b, call: llm.generate, input_template: {task: B}, capture_as: b}
artifacts: [{name: all, type: json, from: "[a, b]"}]
`), 0o600))
	savantIn(t, there, "call", "think.plan", "--args", `{"workflow": "w", "run_id": "r"}`)
	for _, step := range []string{"a", "b"} {
		random := make([]byte, 2_300_000)
		_, _ = rand.Read(random)
		args := filepath.Join(there, "args.json")
		require.NoError(t, os.WriteFile(args, fmt.Appendf(nil, `{"run_id": "r", "step_id": %q, "result_snapshot": %q}`, step, base64.StdEncoding.EncodeToString(random)), 0o600))
		savantIn(t, there, "call", "think.next", "--args", "@"+args)
	}
	file := filepath.Join(there, "r.export")
	savantIn(t, there, "state", "export", "r", "-o", file)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Greater(t, len(whole), 9_000_000)
	h := serveHub(t, here)
	send := func() (int, string) {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		require.NoError(t, form.WriteField("csrf", h.formOf(h.page("/runs"), "/runs/import").Get("csrf")))
		part, err := form.CreateFormFile("export", "r.export")
		require.NoError(t, err)
		_, err = part.Write(whole)
		require.NoError(t, err)
		require.NoError(t, form.Close())
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.base+"/runs/import", &body)
		require.NoError(t, err)
		request.Header.Set("Content-Type", form.FormDataContentType())
		answer, err := h.client.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	for range 2 { // the second time the run is there
		status, body := send()
		require.Equal(t, http.StatusOK, status, body)
	}
	peak := peakOf(int64(h.process.Pid))
	t.Logf("%.0f MB at most", peak)
	require.Less(t, peak, 100.0, "the most MB that the process held")
}

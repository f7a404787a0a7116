package program

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A generated engine compiles in Savant's module, passes its own test and is
// formatted. The sources themselves are not touched: the new files are laid over
// them.
func TestGeneratedEngineWorks(t *testing.T) {
	t.Parallel()
	skipInShort(t)
	sources, err := filepath.Abs("../..")
	require.NoError(t, err)
	checkout := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(checkout, "go.mod"), []byte("module savant\n"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(checkout, "engines"), 0o700))
	runIn(t, checkout, "savant", "generate", "engine", "sample")
	require.Empty(t, runIn(t, checkout, "gofmt", "-l", "engines"))

	overlay := map[string]string{}
	for _, name := range []string{"sample.go", "sample_test.go"} {
		overlay[filepath.Join(sources, "engines", "sample", name)] = filepath.Join(checkout, "engines", "sample", name)
	}
	text, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file := filepath.Join(checkout, "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	tests := filepath.Join(checkout, "sample.test")
	runIn(t, sources, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", tests, "./engines/sample")
	require.Contains(t, runIn(t, checkout, tests, "-test.v"), "PASS: TestHello")
}

func runIn(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	command := exec.Command(program, args...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", program, args, out)
	return string(out)
}

package index_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// TestSecretsAreNotFound checks that withheld files are not found and that the index
// has none of their words.
func TestSecretsAreNotFound(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{".env": "PASSWORD=xylophone", "deploy/id_ed25519": "xylophone", "tls/server.pem": "xylophone",
		"sub/.ENV.local": "xylophone", ".savant/ci.yaml": "xylophone", ".env.example": "PASSWORD=xylophone", "notes.md": "xylophone"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	ix, err := index.Open(context.Background(), index.Options{Folder: folder, CacheFolder: t.TempDir()})
	require.NoError(t, err)
	defer ix.Close()
	_, err = ix.Refresh(t.Context(), nil)
	require.NoError(t, err)
	rows, err := ask(ix, index.Query{Text: "xylophone", Limit: 20})
	require.NoError(t, err)
	var found []string
	for _, row := range rows {
		found = append(found, row.Path)
	}
	require.ElementsMatch(t, []string{".env.example", "notes.md"}, found)
	status, err := ix.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, status.Files)
}

package index_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/engines/repo/index"
)

// TestCopiesOfAPageDoNotCrowdOutOtherFiles: a site keeps a page once for each version.
func TestCopiesOfAPageDoNotCrowdOutOtherFiles(t *testing.T) {
	folder := t.TempDir()
	for version := range 12 {
		write(t, folder, fmt.Sprintf("docs/v%02d/backup.md", version), "# Backup\n\nA backup of the queue is made while the server is stopped.\n")
	}
	write(t, folder, "docs/restore.md", "# Restore\n\nTo restore the queue take the newest file, and start the server again. A backup may be old.\n")
	ix := open(t, folder, t.TempDir())
	require.Equal(t, []string{"docs/v00/backup.md", "docs/restore.md", "docs/v01/backup.md"}, paths(search(t, ix, index.Query{Text: "backup of the queue", Limit: 3})))
	require.Len(t, search(t, ix, index.Query{Text: "backup of the queue", Limit: 20}), 13, "each copy is still found")
	require.Len(t, search(t, ix, index.Query{Text: "backup queue stopped", Literal: true, Limit: 20}), 12)
}

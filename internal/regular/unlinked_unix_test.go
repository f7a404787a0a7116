//go:build unix

package regular_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/regular"
)

// TestALinkThatComesMeanwhileIsNotFollowed: another program puts links in the place of a file
// while it is opened for writing, again and again.
func TestALinkThatComesMeanwhileIsNotFollowed(t *testing.T) {
	folder := t.TempDir()
	root, err := os.OpenRoot(folder)
	require.NoError(t, err)
	defer root.Close()
	at := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, os.WriteFile(at("victim"), []byte("ours"), 0o600))
	require.NoError(t, os.Mkdir(at("logs"), 0o700))
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				_ = os.Symlink("../victim", at("link"))
				_ = os.Rename(at("link"), at("logs/log"))
				_ = os.Remove(at("logs/log"))
			}
		}
	}()
	written := 0
	for range 20_000 {
		file, err := regular.Open(root, "logs/log", os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			require.ErrorIs(t, err, regular.ErrIrregular)
			continue
		}
		_, err = file.WriteString("log!")
		require.NoError(t, err)
		require.NoError(t, file.Close())
		written++
	}
	close(done)
	<-ended
	text, err := os.ReadFile(at("victim"))
	require.NoError(t, err)
	require.Equal(t, "ours", string(text))
	require.Positive(t, written, "the twin: without a link it is written")
}

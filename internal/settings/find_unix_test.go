//go:build unix

package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/settings"
)

// Who puts a .savant in a folder that all may write to is not who runs the program.
func TestAProjectOfSomebodyElseIsNotTaken(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	top := tree(t, "shared/.savant/", "shared/mine/", ".git/")
	require.NoError(t, os.Chown(filepath.Join(top, "shared/.savant"), 4242, 4242))
	t.Chdir(filepath.Join(top, "shared/mine"))
	loaded, err := settings.Load(from(nil), from(nil), everybody)
	require.NoError(t, err)
	require.Equal(t, &settings.Found{Folder: top, Sign: ".git"}, loaded.Found)

	require.NoError(t, os.Chown(filepath.Join(top, "shared/mine"), 4242, 4242))
	loaded, err = settings.Load(from(nil), from(nil), everybody)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(top, "shared"), loaded.Found.Folder, "one's own choice to be there")
}

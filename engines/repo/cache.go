package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"savant/engines/repo/index"
	"savant/internal/ownfolder"
)

// ownCache holds the indexes if the user has no cache folder, as for a service without
// HOME; relative to SAVANT_PATH.
const ownCache = ownfolder.State + "/cache/index"

// cacheFolder returns the folder of indexes, "" for the user's cache folder. It creates
// one in the project if needed.
func cacheFolder(given, project string) (string, error) {
	if given != "" || !index.NoUsersCache() {
		return given, nil
	}
	root, err := os.OpenRoot(project)
	if err != nil {
		return "", notOpened("", err)
	}
	defer root.Close()
	if err := ownfolder.Mkdir(root, ownfolder.State, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", ownfolder.NotSaved(ownfolder.State, err)
	}
	if err := root.MkdirAll(ownCache, 0o700); err != nil {
		return "", ownfolder.NotSaved(ownCache, err)
	}
	return filepath.Join(root.Name(), filepath.FromSlash(ownCache)), nil
}

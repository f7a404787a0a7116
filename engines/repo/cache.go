package repo

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"savant/engines/repo/index"
	"savant/internal/ownfolder"
	"savant/internal/regular"
)

// ownCache holds the indexes if the user has no cache folder, as for a service without
// HOME; relative to SAVANT_PATH.
const ownCache = ownfolder.State + "/cache/index"

// cacheFolder returns the folder of indexes, "" for the user's cache folder. One that the
// author of a searched folder could bring counts as none. It creates one in the project if
// needed.
func cacheFolder(project string, searched []repository) (string, error) {
	users := index.UsersCache()
	brought := slices.ContainsFunc(searched, func(each repository) bool { return regular.Controls(each.folder, users) })
	if users == "" && !index.NoUsersCache() || users != "" && !brought {
		return "", nil
	}
	root, err := regular.OpenFolder(project)
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
	// an index that came with the folder is under another name
	name := ownCache + "/" + ownfolder.Identity(root, ownCache)
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", ownfolder.NotSaved(name, err)
	}
	return filepath.Join(root.Name(), filepath.FromSlash(name)), nil
}

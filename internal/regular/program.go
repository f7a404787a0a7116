package regular

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// SearchPath is PATH without the folders that one of the given folders controls: a clone
// could bring there a program with the name of another one, as in node_modules/.bin.
func SearchPath(folders ...string) string {
	kept := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(entry string) bool {
		return !filepath.IsAbs(entry) || slices.ContainsFunc(folders, func(folder string) bool {
			return folder != "" && Controls(folder, entry)
		})
	})
	return strings.Join(kept, string(filepath.ListSeparator))
}

// Program finds a program on a search path. The error is that of exec.LookPath.
func Program(path, name string) (string, error) {
	for _, entry := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(entry, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

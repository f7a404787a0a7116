package trust

import (
	"path/filepath"
	"runtime"
)

// Configuration returns the user's folder of configuration, as an environment
// names it: XDG_CONFIG_HOME, else what the system is used to. A folder that is not
// named by its whole path is none: it would be another one in each folder.
func Configuration(variable func(name string) (string, bool)) string {
	named := func(name string, below ...string) string {
		folder, _ := variable(name)
		if !filepath.IsAbs(folder) {
			return ""
		}
		return filepath.Join(append([]string{folder}, below...)...)
	}
	if folder := named("XDG_CONFIG_HOME"); folder != "" {
		return folder
	}
	switch runtime.GOOS {
	case "windows":
		return named("AppData")
	case "darwin":
		return named("HOME", "Library", "Application Support")
	}
	return named("HOME", ".config")
}

// Inside says whether a path, with its links resolved, is in a folder. What cannot
// be resolved is not. target is the resolved path.
func Inside(folder, path string) (target string, inside bool) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filepath.Clean(path), false
	}
	target = Resolved(target)
	below, err := filepath.Rel(Resolved(folder), target)
	return target, err == nil && filepath.IsLocal(below)
}

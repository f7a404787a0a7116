package trust

import (
	"path/filepath"
	"runtime"
)

// Configuration returns the user's configuration folder for an environment:
// XDG_CONFIG_HOME, or else the system's usual folder. A relative path counts as none,
// since it would mean another folder in each working folder.
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

// Inside reports whether a path, with its links resolved, is in a folder. It is false
// for a path that cannot be resolved. target is the resolved path.
func Inside(folder, path string) (target string, inside bool) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filepath.Clean(path), false
	}
	target = Resolved(target)
	below, err := filepath.Rel(Resolved(folder), target)
	return target, err == nil && filepath.IsLocal(below)
}

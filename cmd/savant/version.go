package main

import "runtime/debug"

// programVersion is what the linker was told, else what the Go tool knows of
// the sources: a module version or a commit.
func programVersion() string {
	if version != "" {
		return version
	}
	built, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if built.Main.Version != "" && built.Main.Version != "(devel)" {
		return built.Main.Version
	}
	for _, setting := range built.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "devel-" + setting.Value[:12]
		}
	}
	return "devel"
}

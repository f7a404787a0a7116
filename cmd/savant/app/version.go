package app

import "runtime/debug"

// VersionOf returns the linker's version, or else the module version or commit that the
// Go tool recorded.
func VersionOf(linked string) string {
	if linked != "" {
		return linked
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

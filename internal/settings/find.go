package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Found is a folder above the working folder that became SAVANT_PATH because nothing
// set it.
type Found struct {
	// Folder is its absolute path; Sign is the entry that identified it.
	Folder, Sign string
}

// find looks for the project of the working folder, from there upward, as git does: the
// nearest folder with .savant, workflows/ or .git. It returns nil if that is the
// working folder itself, or if there is none.
//
// A folder above is used only if it belongs to the user or to the owner of the working
// folder: in a folder that others may write to, anybody could put a .savant with commands. The home folder and the root are
// not used as the project of a folder below them.
func find() *Found {
	working, err := os.Getwd()
	if err != nil {
		return nil
	}
	return FindFrom(working)
}

// FindFrom returns SAVANT_PATH for a program that works in a folder and has no setting
// for it; nil if that is the folder itself.
func FindFrom(working string) *Found {
	working, err := filepath.EvalSymlinks(working)
	if err != nil {
		return nil
	}
	home, _ := os.UserHomeDir()
	if resolved, err := filepath.EvalSymlinks(home); err == nil {
		home = resolved
	}
	for folder := working; ; folder = filepath.Dir(folder) {
		if above := filepath.Dir(folder); folder != working && (above == folder || folder == home) {
			return nil
		}
		sign, info := signOf(folder)
		switch {
		case sign != "" && folder == working:
			return nil
		case sign != "" && ownedAs(info, working):
			return &Found{Folder: folder, Sign: sign}
		case filepath.Dir(folder) == folder:
			return nil
		}
	}
}

// signOf returns the entry of a folder that makes it a project, "" for none.
func signOf(folder string) (sign string, info os.FileInfo) {
	for _, name := range []string{".savant", "workflows", ".git"} {
		info, err := os.Stat(filepath.Join(folder, name))
		switch {
		case err != nil || !info.IsDir() && name != ".git": // .git is a file in a worktree and in a submodule
		case name == "workflows" && !holdsWorkflows(folder):
		default:
			return name, info
		}
	}
	return "", nil
}

// holdsWorkflows reports whether workflows/ in a folder is Savant's: it has YAML files
// and does not belong to a service, like .github/workflows.
func holdsWorkflows(folder string) bool {
	if strings.HasPrefix(filepath.Base(folder), ".") {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(folder, "workflows"))
	return err == nil && slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		ending := filepath.Ext(entry.Name())
		return ending == ".yaml" || ending == ".yml"
	})
}

// relative returns the path of a found folder relative to the working folder, such as
// "..". It resolves links first, because the parent of a linked folder is another one
// than its path says.
func (f *Found) relative() string {
	working, err := os.Getwd()
	if err != nil {
		return f.Folder
	}
	if physical, err := filepath.EvalSymlinks(working); err != nil || physical != working {
		return f.Folder
	}
	if named, err := filepath.Rel(working, f.Folder); err == nil {
		return named
	}
	return f.Folder
}

package settings

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"savant/internal/trust"
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
// A folder above is used only if it and the entry, not what a link there leads to, belong to
// the user or to the owner of the working folder, and if nobody else may write there: in a
// folder that others may write to, anybody could put a .savant with commands. The home folder
// and the root are not used as the project of a folder below them.
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
		sign := signOf(folder, working)
		switch {
		case sign != "" && folder == working:
			return nil
		case sign != "":
			return &Found{Folder: folder, Sign: sign}
		case filepath.Dir(folder) == folder:
			return nil
		}
	}
}

// Nowhere says which place SAVANT_PATH is that is nobody's project: the root of the file
// system or the home folder, if only the working folder makes it that and nothing there
// is a sign of a project. For any other folder it is "".
func (l *Loaded) Nowhere() string {
	folder, err := filepath.EvalSymlinks(l.Path)
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil || filepath.IsAbs(l.Path) || signOf(folder, folder) != "" {
		return ""
	}
	home, err := os.UserHomeDir()
	if resolved, failed := filepath.EvalSymlinks(home); failed == nil {
		home = resolved
	}
	switch {
	case filepath.Dir(folder) == folder:
		return "the root of the file system"
	case err == nil && folder == home:
		return "the home folder"
	}
	return ""
}

// signOf returns the entry of a folder that makes it a project, "" for none. One above the
// working folder must be safe, and in its folder if Savant reads it: no link out of it is
// followed.
func signOf(folder, working string) string {
	for _, name := range []string{".savant", "workflows", ".git"} {
		entry := filepath.Join(folder, name)
		info, err := os.Stat(entry)
		_, inside := trust.Inside(folder, entry)
		switch {
		case err != nil || !info.IsDir() && !(name == ".git" && info.Mode().IsRegular()): // .git is a file in a worktree and in a submodule
		case folder != working && !((inside || name == ".git") && safe(folder, working) && safe(entry, working)):
		case name == "workflows" && !holdsWorkflows(folder):
		default:
			return name
		}
	}
	return ""
}

// holdsWorkflows reports whether workflows/ in a folder is Savant's: it has YAML files
// and does not belong to a service, like .github/workflows.
func holdsWorkflows(folder string) bool {
	if strings.HasPrefix(filepath.Base(folder), ".") {
		return false
	}
	entries, err := os.ReadDir(filepath.Join(folder, "workflows"))
	return err == nil && slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		ending := strings.ToLower(filepath.Ext(entry.Name()))
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

// Package ownfolder makes the folders that Savant keeps for itself in a
// project, so that version control does not see what they hold.
package ownfolder

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"savant/internal/atomicfile"
)

// State is the folder of Savant's state and of what people write for it; Logs is
// that of its logs.
const (
	State = ".savant"
	Logs  = "logs"
)

// ignored are the .gitignore files, which ignore themselves too: a tree that
// was clean stays so. What people write and share is let in.
var ignored = map[string]string{
	State: "# Made by Savant: state stays here, what people write is shared.\n*\n!ci.yaml\n!mcp.json\n!memory/\n!memory/*.md\n",
	Logs:  "# Made by Savant: logs stay here.\n*\n",
}

// Mkdir makes a folder, as os.Root.Mkdir does: fs.ErrExist if it exists. A folder
// of Savant's own gets a .gitignore when it is made; State gets one also if it
// exists without, as in a clone that holds what people share. Failing to write
// it is no error: the project only sees more untracked files.
func Mkdir(root *os.Root, name string, permission os.FileMode) error {
	err := root.Mkdir(name, permission)
	text, own := ignored[name]
	if !own || err != nil && (name != State || !errors.Is(err, fs.ErrExist)) {
		return err
	}
	file := path.Join(name, ".gitignore")
	if _, missing := root.Lstat(file); errors.Is(missing, fs.ErrNotExist) {
		_ = atomicfile.Replace(atomicfile.Root(root), file, []byte(text), 0o600, atomicfile.Lazy)
	}
	return err
}

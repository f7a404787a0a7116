// Package ownfolder makes the folders that Savant keeps for itself in a
// project, so that version control does not see what they hold.
package ownfolder

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"savant/internal/atomicfile"
	"savant/internal/regular"
)

// State is the folder of Savant's state and of what people write for it; Logs is
// that of its logs, StateLogs where Logs is somebody else's.
const (
	State     = ".savant"
	Logs      = "logs"
	StateLogs = State + "/logs"
)

// logsIgnored is the .gitignore of logs. Its first line is how Savant knows Logs for
// its own.
const logsIgnored = "# Made by Savant: logs stay here.\n*\n"

// ignored are the .gitignore files, which ignore themselves too: a tree that
// was clean stays so. What people write and share is let in.
var ignored = map[string]string{
	State:     "# Made by Savant: state stays here, what people write is shared.\n*\n!ci.yaml\n!mcp.json\n!memory/\n!memory/*.md\n",
	Logs:      logsIgnored,
	StateLogs: logsIgnored,
}

// LogFolder returns where logs go: Logs if there is none yet or if Savant made it,
// else StateLogs. It makes nothing.
func LogFolder(root *os.Root) string {
	_, err := root.Lstat(Logs)
	if errors.Is(err, fs.ErrNotExist) {
		return Logs
	}
	info, err := root.Lstat(Logs + "/.gitignore")
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return StateLogs
	}
	text, err := regular.ReadFile(root, Logs+"/.gitignore")
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if err != nil || !strings.HasPrefix(logsIgnored, string(bytes.TrimSpace(first))+"\n") {
		return StateLogs
	}
	return Logs
}

// Mkdir makes a folder, as os.Root.Mkdir does: fs.ErrExist if it exists. A folder
// of Savant's own gets a .gitignore when it is made; State gets one also if it
// exists without, as in a clone that holds what people share. Failing to write
// it is no error: the project only sees more untracked files. State is made for
// StateLogs.
func Mkdir(root *os.Root, name string, permission os.FileMode) error {
	text, own := ignored[name]
	if !own {
		return root.Mkdir(name, permission)
	}
	if name == StateLogs {
		if err := Mkdir(root, State, permission); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	err := mkdirWhole(root, name, permission, text)
	if name != Logs && errors.Is(err, fs.ErrExist) {
		ignore(root, name, text)
	}
	return err
}

// ignore writes the .gitignore of a folder, if it has none.
func ignore(root *os.Root, folder, text string) {
	file := path.Join(folder, ".gitignore")
	if _, missing := root.Lstat(file); errors.Is(missing, fs.ErrNotExist) {
		_ = atomicfile.Replace(atomicfile.Root(root), file, []byte(text), 0o600, atomicfile.Lazy)
	}
}

// mkdirWhole makes a folder with its .gitignore at once: another process that sees Logs
// without one would take it for somebody else's, and git would list the file in it. The
// folder is prepared below one named .git, where git looks for no files.
func mkdirWhole(root *os.Root, name string, permission os.FileMode, text string) error {
	if _, err := root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return root.Mkdir(name, permission)
	}
	above := path.Join(path.Dir(name), "."+strings.TrimPrefix(path.Base(name), ".")+"-"+strings.ToLower(rand.Text()))
	made := above + "/.git/" + path.Base(name)
	for _, each := range []string{above, path.Dir(made), made} {
		if err := root.Mkdir(each, permission); err != nil {
			return errors.Join(err, root.RemoveAll(above))
		}
	}
	ignore(root, made, text)
	err := root.Rename(made, name)
	if gone := root.RemoveAll(above); gone != nil {
		return errors.Join(err, gone)
	}
	if err != nil {
		return root.Mkdir(name, permission) // fs.ErrExist, where another process was first
	}
	return nil
}

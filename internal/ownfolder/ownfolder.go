// Package ownfolder creates Savant's folders in a project with .gitignore files, so
// that version control ignores their content.
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

// State is the folder of Savant's state and of its files for people. Logs is the folder
// of logs, and StateLogs replaces it if another program owns Logs.
const (
	State     = ".savant"
	Logs      = "logs"
	StateLogs = State + "/logs"
)

// logsIgnored is the .gitignore of logs. Its first line marks Logs as Savant's.
const logsIgnored = "# Made by Savant: logs stay here.\n*\n"

// ignored are the .gitignore files. They ignore themselves, so a clean working tree
// stays clean. Files that people write and share are not ignored.
var ignored = map[string]string{
	State:     "# Made by Savant: state stays here, what people write is shared.\n*\n!ci.yaml\n!mcp.json\n!schemas/\n!schemas/*.json\n!memory/\n!memory/*.md\n",
	Logs:      logsIgnored,
	StateLogs: logsIgnored,
}

// LogFolder returns the folder of logs: Logs if it does not exist or belongs to Savant,
// else StateLogs. It creates nothing.
func LogFolder(root *os.Root) string {
	_, err := root.Lstat(Logs)
	if errors.Is(err, fs.ErrNotExist) {
		return Logs
	}
	info, err := root.Lstat(Logs + "/.gitignore")
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return StateLogs
	}
	text, err := regular.ReadFile(root, Logs+"/.gitignore", 1<<16)
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if err != nil || !strings.HasPrefix(logsIgnored, string(bytes.TrimSpace(first))+"\n") {
		return StateLogs
	}
	return Logs
}

// Mkdir creates a folder like os.Root.Mkdir: fs.ErrExist if it exists. A new folder of
// Savant's gets a .gitignore; State also gets one if it exists without, as in a clone
// with shared files. Failing to write it is not an error, since git then only shows
// more untracked files. For StateLogs it also creates State.
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

// MkdirAll creates a folder with those above it, each by Mkdir; one that exists is no error.
func MkdirAll(root *os.Root, name string) error {
	made := ""
	for part := range strings.SplitSeq(name, "/") {
		made = path.Join(made, part)
		if err := Mkdir(root, made, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return NotSaved(made, err)
		}
	}
	return nil
}

// ignore writes the .gitignore of a folder if it is missing.
func ignore(root *os.Root, folder, text string) {
	file := path.Join(folder, ".gitignore")
	if _, missing := root.Lstat(file); errors.Is(missing, fs.ErrNotExist) {
		_ = atomicfile.Replace(atomicfile.Root(root), file, []byte(text), 0o600, atomicfile.Lazy)
	}
}

// mkdirWhole creates a folder together with its .gitignore. Otherwise another process
// could see Logs without it and treat the folder as another program's, and git could
// list its files. The folder is prepared below a folder named .git, which git ignores.
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
		return root.Mkdir(name, permission) // fs.ErrExist if another process was faster
	}
	return nil
}

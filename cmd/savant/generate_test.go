package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A generated engine compiles, passes its test and that of the floors, and the
// program that has it answers its tool.
func TestGeneratedEngineWorks(t *testing.T) {
	tree := t.TempDir()
	copySources(t, "../..", tree)
	in := func(program string, args ...string) string {
		command := exec.Command(program, args...)
		command.Dir = tree
		command.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -trimpath", "GOPROXY=off")
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s %v: %s", program, args, out)
		return string(out)
	}
	require.Contains(t, in("savant", "generate", "engine", "sample"), "It is one of the engines of cmd/savant/house.go.")
	for _, taken := range []string{"errors", "version", "string", "init", "h"} { // they mean something else in cmd/savant
		require.Contains(t, in("savant", "generate", "engine", taken), "It is one of the engines of cmd/savant/house.go.")
	}
	require.Empty(t, in("gofmt", "-l", "engines/sample", "engines/errors", "cmd/savant/house.go", "imports_test.go"))
	in("go", "vet", "./engines/sample", "./engines/init", "./cmd/savant")
	in("go", "test", "-run", "Floors|Hello", ".", "./engines/sample", "./engines/string")
	require.Contains(t, in("go", "run", "./cmd/savant", "call", "errors.hello", "--args", `{"name": "Ada"}`), "Hello, Ada!")
	said := in("go", "run", "./cmd/savant", "call", "sample.hello", "--args", `{"name": "Ada"}`)
	require.Contains(t, said, "Hello, Ada!")
}

// copySources copies what the program is built from.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != from && (strings.HasPrefix(base, ".") && base != ".." || base == "testdata" || base == "node_modules" || base == "bin" || base == "logs") {
				return fs.SkipDir
			}
			relative, err := filepath.Rel(from, name)
			if err != nil {
				return err
			}
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		}
		relative, err := filepath.Rel(from, name)
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), content, 0o644)
	}))
}

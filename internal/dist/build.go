package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// build compiles the program for a target, statically and without paths of this
// machine.
func (r release) build(ctx context.Context, t target) (file, error) {
	path, err := filepath.Abs(filepath.Join(r.Out, "bin", t.OS+"_"+t.Arch, t.program()))
	if err != nil {
		return file{}, err
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X main.version=v"+r.Version, "-o", path, "./cmd/savant")
	command.Dir = r.Source
	command.Env = append(os.Environ(), "GOOS="+t.OS, "GOARCH="+t.Arch, "CGO_ENABLED=0", "GOWORK=off")
	if text, err := command.CombinedOutput(); err != nil {
		return file{}, fmt.Errorf("build for %s: %w\n%s", t, err, text)
	}
	data, err := os.ReadFile(path)
	return file{name: t.program(), data: data, executable: true}, err
}

// manual makes the manual pages and the files by which shells complete commands.
func (r release) manual(ctx context.Context) (list []file, err error) {
	folder, err := os.MkdirTemp("", "savant-manual")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	command := exec.CommandContext(ctx, "go", "run", "./cmd/manual", "-version", "v"+r.Version, "-date", r.Time.Format(time.DateOnly), filepath.Join(folder, "share"))
	command.Dir = r.Source
	command.Env = append(os.Environ(), "GOOS=", "GOARCH=", "CGO_ENABLED=0", "GOWORK=off")
	if text, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("manual pages: %w\n%s", err, text)
	}
	files := os.DirFS(folder)
	return list, fs.WalkDir(files, "share", func(name string, entry fs.DirEntry, err error) error { // in the order of names
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		list = append(list, file{name: name, data: data})
		return err
	})
}

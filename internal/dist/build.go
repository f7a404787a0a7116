package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

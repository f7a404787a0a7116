package mongotest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"savant/internal/filelock"
)

// serverProgram returns the server's program. With CI set it is built, which takes about
// two minutes the first time; else the test is skipped unless it was built before.
func serverProgram(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, "bin", "ferret")
	if os.Getenv("CI") != "" {
		if err := build(t.Context(), root); err != nil {
			t.Fatalf("the database server of the tests was not built: %v", err)
		}
		return program
	}
	if _, err := os.Stat(program); err != nil {
		t.Skipf("%s is not built: run make ferret (about two minutes the first time), or set %s to the address of a MongoDB", program, EnvURI)
	}
	return program
}

// build runs make ferret. Of several test programs one builds.
func build(ctx context.Context, root string) error {
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(root, "bin", ".ferret.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := filelock.Wait(ctx, func() (bool, error) { return filelock.TryLock(lock, true) }); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "make", "-s", "-C", root, "ferret")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make ferret: %w: %s", err, output)
	}
	return nil
}

// moduleRoot returns the folder of go.mod, at or above the working folder.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("there is no go.mod above the working folder")
		}
		folder = above
	}
}

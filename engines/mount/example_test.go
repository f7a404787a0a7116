package mount_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"savant/engines"
	"savant/engines/mount"
)

// A server that .savant/mcp.json names becomes an engine. It starts when it is
// first called for, and its tools are trusted as they were first seen.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "mount")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	self, err := os.Executable() // here it is a small MCP server
	if err != nil {
		fmt.Println(err)
		return
	}
	config := fmt.Sprintf(`{"mcpServers": {"fake": {"command": %q, "args": ["-test.run=^$"], "env": {"FAKE_MODE": "good"}}}}`, self)
	if err := os.Mkdir(filepath.Join(folder, ".savant"), 0o700); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.WriteFile(filepath.Join(folder, ".savant", "mcp.json"), []byte(config), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer root.Close()

	registry := engines.NewRegistry(engines.Options{})
	mounts := mount.Open(mount.Options{Root: root, Path: folder, Registry: registry, Environment: os.Environ()})
	defer mounts.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	mounts.Discover(ctx, "fake")
	fmt.Println(registry.Names())
	result, err := registry.Invoke(ctx, engines.Call{}, "fake.echo", json.RawMessage(`{}`))
	fmt.Println(string(result.JSON), err)
	// Output:
	// [fake.echo]
	// {"text":"done"} <nil>
}

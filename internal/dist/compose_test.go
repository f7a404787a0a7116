package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestComposeFile reads compose.yaml, and has the program read each command line in it.
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile("../../compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Build   string
			Image   string
			Command []string
			Depends any `yaml:"depends_on"`
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	program := filepath.Join(t.TempDir(), "savant")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./cmd/savant")
	build.Dir = "../.."
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	ours := 0
	for name, service := range file.Services {
		switch depends := service.Depends.(type) {
		case map[string]any:
			for other := range depends {
				require.Contains(t, file.Services, other, name)
			}
		case []any:
			for _, other := range depends {
				require.Contains(t, file.Services, other, name)
			}
		}
		if service.Build == "" {
			require.NotEmpty(t, service.Image, name)
			continue
		}
		ours++
		// --help after the flags: they are read, and nothing is started.
		command(t, t.TempDir(), program, append(service.Command, "--help")...)
	}
	require.Equal(t, 7, ours)
}

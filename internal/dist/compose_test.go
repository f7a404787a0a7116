package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestComposeFile reads compose.yaml, and has the program read each command line and each
// variable in it.
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile("../../compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Build   string
			Image   string
			Command []string
			Depends any `yaml:"depends_on"`

			Environment map[string]string
		}
	}
	text = regexp.MustCompile(`\$\{\w+:-([^}]*)\}`).ReplaceAll(text, []byte("$1")) // as without an .env
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "${MONGO_PASSWORD}", "0123456789abcdef")), &file))
	program := filepath.Join(t.TempDir(), "savant")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "./cmd/savant")
	build.Dir = "../.."
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	require.NoError(t, known(program, t.TempDir(), map[string]string{"SAVANT_STORE": "mongo"}))
	require.ErrorContains(t, known(program, t.TempDir(), map[string]string{"SAVANT_STOER": "mongo"}), "SAVANT_STOER")
	require.Error(t, known(program, t.TempDir(), map[string]string{"SAVANT_STORE": "elsewhere"}))
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
			for variable := range service.Environment {
				require.Contains(t, []string{"MONGO_INITDB_ROOT_USERNAME", "MONGO_INITDB_ROOT_PASSWORD"}, variable, "nobody says that the image %s knows it", service.Image)
			}
			if name != "replica-set" && strings.HasPrefix(service.Image, "mongo") {
				line := strings.Join(service.Command, " ")
				require.Contains(t, line, " --keyFile ", "%s lets in who has no password", name)
				require.Contains(t, line, "${MONGO_PASSWORD:?", "%s starts without a password", name)
			}
			continue
		}
		ours++
		require.Contains(t, service.Environment["MONGO_URI"], "savant:0123456789abcdef@", name)
		require.NoError(t, known(program, t.TempDir(), service.Environment), name)
		// --help after the flags: they are read, and nothing is started.
		command(t, t.TempDir(), program, append(service.Command, "--help")...)
	}
	require.Equal(t, 7, ours)
}

// known says which variable the program does not read, or not with its value.
func known(program, folder string, environment map[string]string) error {
	show := exec.Command(program, "config", "show", "--origin", "--path", folder)
	show.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder}
	for name, value := range environment {
		show.Env = append(show.Env, name+"="+value)
	}
	said, err := show.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	for name, value := range environment {
		// The folder of configuration, where tokens are, is no setting, and an empty one is not set.
		if value != "" && name != "XDG_CONFIG_HOME" && !strings.Contains(string(said), "environment "+name+"\n") {
			return fmt.Errorf("the program reads no variable %s", name)
		}
	}
	return nil
}

package savant_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"savant/internal/settings"
)

// TestUnitsAreAccepted has systemd read the units of deploy/systemd, for a project, with a
// program where the package puts Savant.
func TestUnitsAreAccepted(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	units, err := filepath.Glob("deploy/systemd/*")
	require.NoError(t, err)
	require.Len(t, units, 4)
	folder := t.TempDir()
	arguments := []string{"verify", "--man=no"}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		require.NoError(t, err)
		adapted := strings.ReplaceAll(string(text), "/usr/bin/savant", "/bin/true")
		adapted = strings.ReplaceAll(adapted, "User=savant\n", "")
		to := filepath.Join(folder, strings.Replace(filepath.Base(unit), "@", "@srv-shop", 1))
		require.NoError(t, os.WriteFile(to, []byte(adapted), 0o600))
		arguments = append(arguments, to)
	}
	command := exec.Command(analyze, arguments...)
	command.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+folder+":")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	for line := range strings.Lines(string(out)) {
		require.NotContains(t, line, "savant", "a warning")
	}
}

// TestThePasswordIsLeftOut: that of compose.yaml is in no commit and in no layer of an image.
func TestThePasswordIsLeftOut(t *testing.T) {
	for _, name := range []string{".gitignore", ".dockerignore"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Regexp(t, `(?m)^/?\.env$`, string(text), name)
	}
}

// TestComposeSetsWhatThereIs: the services of compose.yaml that are Savant set variables that exist, run as
// another user than root, and who decides is named. The test of packages starts their commands.
func TestComposeSetsWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("compose.yaml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Build, User string
			Command     []string
			Environment map[string]string
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	known := map[string]bool{}
	for _, row := range settings.Table() {
		known[row.Env] = true
	}
	for name, service := range file.Services {
		if service.Build == "" {
			continue
		}
		require.NotEmpty(t, service.User, name)
		for variable := range service.Environment {
			require.True(t, known[variable], "%s: %s is no setting", name, variable)
		}
		if slices.Contains(service.Command, "reasoning") {
			require.Contains(t, service.Environment, "LLM_PROVIDER", "without one it ends at once")
		}
	}
	image, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^USER [1-9]`, string(image))
}

// TestServicesSetWhatThereIs checks that units and the property list name settings that
// exist, or variables of their command, which has no address that a second instance cannot
// change; and the property list is XML.
func TestServicesSetWhatThereIs(t *testing.T) {
	known := []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PATH"}
	for _, row := range settings.Table() {
		known = append(known, row.Env)
	}
	files, err := filepath.Glob("deploy/*/*")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, each := range regexp.MustCompile(`(?m)(?:^Environment=|<key>)([A-Z_]+)[=<]`).FindAllStringSubmatch(string(text), -1) {
			require.True(t, slices.Contains(known, each[1]) || strings.Contains(string(text), "${"+each[1]+"}"), "%s: %s is no setting", file, each[1])
		}
		require.NotRegexp(t, `ExecStart=.*:[0-9]`, string(text), file)
		if filepath.Ext(file) != ".plist" {
			continue
		}
		for reader := xml.NewDecoder(strings.NewReader(string(text))); ; {
			_, err := reader.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
		}
	}
}

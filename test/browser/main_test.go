// Package browser drives the pages of `savant hub` in a real Chromium, against the
// running program with runs of other processes.
package browser

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"savant/cmd/savant/commands"
)

// TestMain lets tests run this binary as the program itself.
func TestMain(m *testing.M) {
	testscript.Main(withBrowser{m}, map[string]func(){"savant": func() { os.Exit(commands.Start("test", nil)) }})
}

// withBrowser runs the tests with a home of their own, and one browser for all.
type withBrowser struct{ *testing.M }

func (m withBrowser) Run() (code int) {
	home, err := os.MkdirTemp("", "savant-browser-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	for name, folder := range map[string]string{"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache", "TMPDIR": "tmp"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
			panic(err)
		}
		if err := os.Setenv(name, filepath.Join(home, folder)); err != nil {
			panic(err)
		}
	}
	defer closeBrowser()
	return m.M.Run()
}

// wanted reports whether these tests run: they need half a minute and a browser, so
// `make browser` and CI ask for them.
func wanted(t testing.TB) {
	t.Helper()
	if os.Getenv("SAVANT_BROWSER_TESTS") == "" {
		t.Skip("the tests in a browser are run by make browser")
	}
}

// chromium returns the program of the browser. Without one the tests are skipped on a
// machine of a person, and fail in CI.
func chromium(t testing.TB) string {
	t.Helper()
	wanted(t)
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("there is no chromium on this machine: apt-get install chromium")
	}
	t.Skip("NO CHROMIUM ON THIS MACHINE: THE PAGES OF THE HUB WERE NOT TESTED IN A BROWSER")
	return ""
}

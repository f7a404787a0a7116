package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"savant/cmd/savant/commands"
	"savant/internal/settings"
)

// TestEachCommandHasAPage: with its words, its flags and its way to the others; what
// formats pages has no complaint.
func TestEachCommandHasAPage(t *testing.T) {
	folder, count := t.TempDir(), 0
	root := commands.Tree("v1.2.3")
	require.NoError(t, write(root, "2026-11-22", folder))
	groff, _ := exec.LookPath("groff")
	var check func(*cobra.Command)
	check = func(command *cobra.Command) {
		count++
		file := filepath.Join(folder, "man", "man1", pageName(command)+".1")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), `1 "2026-11-22" "savant v1.2.3" "Savant"`)
		require.Contains(t, string(text), roff(command.Short))
		command.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			require.True(t, f.Hidden || strings.Contains(string(text), roff("--"+f.Name)), "%s: --%s", file, f.Name)
		})
		for _, each := range listedCommands(command) {
			require.Contains(t, string(text), roff(pageName(each))+`\fR(1)`)
			check(each)
		}
		if groff != "" {
			said, err := exec.CommandContext(t.Context(), groff, "-Kutf8", "-man", "-ww", "-z", file).CombinedOutput()
			require.NoError(t, err)
			require.Empty(t, string(said))
		}
	}
	check(root)
	written, err := fs.Glob(os.DirFS(folder), "man/man1/*.1")
	require.NoError(t, err)
	require.Len(t, written, count)
	require.Greater(t, count, 80)
	text, err := os.ReadFile(filepath.Join(folder, "man", "man1", "savant.1"))
	require.NoError(t, err)
	for _, row := range settings.Table() {
		require.Contains(t, string(text), "\n.B "+row.Env+"\n")
	}
}

// TestTheSameSourcesGiveTheSameFiles, those of four shells among them.
func TestTheSameSourcesGiveTheSameFiles(t *testing.T) {
	read := func() map[string]string {
		folder, found := t.TempDir(), map[string]string{}
		require.NoError(t, write(commands.Tree(""), "", folder))
		require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
			found[name] = string(text)
			return err
		}))
		return found
	}
	first := read()
	require.Equal(t, first, read())
	for _, name := range []string{"bash-completion/completions/savant", "zsh/site-functions/_savant", "fish/vendor_completions.d/savant.fish", "powershell/savant.ps1"} {
		require.Contains(t, first[name], "__complete", name)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		command := exec.CommandContext(t.Context(), bash, "-n")
		command.Stdin = strings.NewReader(first["bash-completion/completions/savant"])
		require.NoError(t, command.Run())
	}
}

// TestRoffKeepsEachCharacter: what means something to roff is printed as it is.
func TestRoffKeepsEachCharacter(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed")
	}
	text := ".dot \\n(x 'q' `b` ^~ \"d\" -- @x\n.second"
	command := exec.CommandContext(t.Context(), groff, "-Kutf8", "-Tutf8", "-man")
	command.Stdin = strings.NewReader(".TH X 1\n.SH A\n.nf\n" + roff(text) + "\n")
	out, err := command.Output()
	require.NoError(t, err)
	for line := range strings.SplitSeq(text, "\n") {
		require.Contains(t, string(out), line)
	}
}

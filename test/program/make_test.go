package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// make ask hands the question to the program as it was given: neither make nor
// the shell reads it.
func TestMakeHandsOverTheQuestion(t *testing.T) {
	t.Parallel()
	make, err := exec.LookPath("make")
	if err != nil {
		t.Skip("make is not installed")
	}
	makefile, err := filepath.Abs("../../Makefile")
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "bin"), 0o700))
	program := "#!/bin/sh\nprintf '%s|' \"$@\" > said\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "bin", "savant"), []byte(program), 0o700))
	for _, question := range []string{
		"where is the loop?",
		`it's "quoted" \ # and more`,
		"$(shell touch made) $(touch made) `touch made`; touch made && touch made",
		"$$HOME ${HOME} $x -- 100%\nand a second line",
		"--help",
	} {
		for _, way := range []func(*exec.Cmd){
			func(c *exec.Cmd) { c.Args = append(c.Args, "question="+question) },
			func(c *exec.Cmd) { c.Env = append(os.Environ(), "question="+question) },
		} {
			command := exec.Command(make, "-f", makefile, "-o", "build", "ask")
			command.Dir = folder
			way(command)
			out, err := command.CombinedOutput()
			require.NoError(t, err, string(out))
			said, err := os.ReadFile(filepath.Join(folder, "said"))
			require.NoError(t, err)
			require.Equal(t, "run|--|"+question+"|", string(said))
		}
	}
	require.NoFileExists(t, filepath.Join(folder, "made"))
}

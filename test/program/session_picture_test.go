package program

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"savant/test/golden"
)

// session is what README shows: a release whose tests fail, then pass.
var session = []string{
	"savant workflows validate release",
	"savant workflows run release --param version=1.1 --name red",
	"git checkout -q price.txt",
	"savant workflows run release --param version=1.1 --name green",
	"savant verify red --verbose",
}

// TestThePictureOfASessionIsWhatHappens types the session in the project of the tutorial,
// and draws docs/pictures/session.svg of what the program prints.
func TestThePictureOfASessionIsWhatHappens(t *testing.T) {
	for _, program := range []string{"git", "make", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	folder := t.TempDir()
	page, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	for _, part := range parts.FindAllStringSubmatch(string(page), -1) {
		if name := fileName.FindStringSubmatch(part[3]); name != nil {
			file := filepath.Join(folder, name[1])
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
			require.NoError(t, os.WriteFile(file, []byte(part[3]), 0o600))
		}
	}
	environment := []string{"SAVANT_PATH=" + folder, "LOG_LEVEL=error", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"),
		"XDG_CONFIG_HOME=" + t.TempDir(), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	shell := func(line string) {
		command := exec.Command("sh", "-c", line)
		command.Dir, command.Env = folder, environment
		out, err := command.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	shell("echo 12 >price.txt && git init -q && git add . && git -c user.name=Ada -c user.email=ada@example.org commit -qm begin && echo 13 >price.txt")
	var stdout strings.Builder
	require.Zero(t, run(t.Context(), []string{"init", "--yes"}, environment, strings.NewReader(""), &stdout, &stdout), stdout.String())
	var lines []string
	for _, each := range session {
		lines = append(lines, "$ "+each)
		arguments, ours := strings.CutPrefix(each, "savant ")
		if !ours {
			shell(each)
			continue
		}
		stdout.Reset()
		run(t.Context(), strings.Fields(arguments), environment, strings.NewReader(""), &stdout, &stdout)
		printed := regexp.MustCompile(`receipt \w+`).ReplaceAllString(strings.TrimRight(stdout.String(), "\n"), "receipt 7x2veao7")
		lines = append(lines, strings.Split(printed, "\n")...)
	}
	golden.Compare(t, *update, "../../docs/pictures/session.svg", drawn(lines))
}

// Measures of the picture, in pixels; a longer line is cut.
const (
	columns    = 100
	lineHeight = 20
	charWidth  = 8.4
	margin     = 20
)

// drawn is a terminal with these lines.
func drawn(lines []string) string {
	var svg strings.Builder
	width, height := int(columns*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="A terminal session of Savant">`+"\n", width, height, width, height)
	fmt.Fprintf(&svg, `<rect width="100%%" height="100%%" rx="8" fill="#15181e"/>`+"\n<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" xml:space=\"preserve\">\n")
	for i, line := range lines {
		colour := "#c9d1d9"
		switch {
		case strings.HasPrefix(line, "$ "):
			colour = "#7ee787"
		case strings.Contains(line, "failed"):
			colour = "#ff9d94"
		}
		if utf8.RuneCountInString(line) > columns {
			line = string([]rune(line)[:columns-1]) + "…"
		}
		fmt.Fprintf(&svg, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", margin, margin+(i+1)*lineHeight-6, colour, html.EscapeString(line))
	}
	svg.WriteString("</g>\n</svg>\n")
	return svg.String()
}

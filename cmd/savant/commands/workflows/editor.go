package workflows

import (
	"context"
	"os"
	"os/exec"
	"strings"

	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/jsonvalue"
)

// edited lets a person write an answer in the editor of VISUAL or EDITOR. The file
// begins with the question in # lines; only those are removed from the answer. An empty
// answer is APPROVAL_REQUIRED.
func (p *program) edited(ctx context.Context, shown any) (string, error) {
	command := p.editor()
	if len(command) == 0 {
		return "", fault.New(fault.InvalidParams, "--editor: set EDITOR to the editor to use")
	}
	text, err := terminal.Indented(shown)
	if err != nil {
		return "", err
	}
	above := "# Write the answer below these lines: JSON, or text. These lines are removed.\n# " +
		strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n# ") + "\n"
	file, err := temporary(above)
	if err != nil {
		return "", err
	}
	defer os.Remove(file)
	run := exec.CommandContext(ctx, command[0], append(command[1:], file)...)
	run.Stdin, run.Stdout, run.Stderr, run.Env = p.Stdin, p.Stdout.Writer, p.Stderr, p.World.Environment
	if err := run.Run(); err != nil {
		return "", fault.New(fault.InvalidParams, "--editor: %s: %w; the step still waits", command[0], err)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		return "", fault.New(fault.Internal, "the file that was edited: %w", err)
	}
	answer := textBelow(above, string(written))
	if answer == "" {
		return "", stillWaits(terminal.ErrNoAnswer)
	}
	return answer, nil
}

// textBelow returns the text after the lines above it, which the editor may have saved with
// other line ends.
func textBelow(above, written string) string {
	asked := map[string]bool{}
	for line := range strings.Lines(above) {
		asked[strings.TrimSpace(line)] = true
	}
	var lines []string
	for line := range strings.Lines(written) {
		if !asked[strings.TrimSpace(line)] {
			lines = append(lines, line)
		}
	}
	return strings.TrimSpace(strings.Join(lines, ""))
}

// withSavedText returns the error of a refused answer, with the name of a file that holds the
// person's text.
func withSavedText(err error, written string) error {
	file, failed := temporary(written)
	if failed != nil {
		return err
	}
	coded, syntax := fault.From(err), ""
	if _, invalid := jsonvalue.Decode([]byte(written)); invalid != nil && strings.ContainsAny(written[:1], "{[") {
		syntax = " (as JSON: " + invalid.Error() + ")"
	}
	return fault.New(coded.Code, "%s; what you wrote%s is kept in %s", coded.Message(), syntax, file).With(coded.Diagnostics...)
}

// temporary writes a text into a new file that only its owner can read.
func temporary(text string) (string, error) {
	file, err := os.CreateTemp("", "savant-answer-*.json")
	if err != nil {
		return "", fault.New(fault.Internal, "the file to edit: %w", err)
	}
	_, err = file.WriteString(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return "", fault.New(fault.Internal, "the file to edit: %w", err)
	}
	return file.Name(), nil
}

// editor returns the command in VISUAL or EDITOR, with its arguments.
func (p *program) editor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if text, _ := p.Variable(name); strings.TrimSpace(text) != "" {
			return strings.Fields(text)
		}
	}
	return nil
}

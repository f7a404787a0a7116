package workflows

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"

	"savant/cmd/savant/terminal"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// edited has a person write the result of a step in the editor of VISUAL or EDITOR. The
// file begins with what is asked, in lines with a #, which are left out of the result.
// Nothing else in the file is no answer: APPROVAL_REQUIRED.
func (p *program) edited(ctx context.Context, asked flow.Instruction) (json.RawMessage, error) {
	command := p.editor()
	if len(command) == 0 {
		return nil, fault.New(fault.InvalidParams, "--editor: set EDITOR to the editor to use")
	}
	text, err := terminal.Indented(question(asked))
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "savant-answer-*.json")
	if err != nil {
		return nil, fault.New(fault.Internal, "the file to edit: %w", err)
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString("# The result of this step, as JSON. Lines with a # are left out.\n# " +
		strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n# ") + "\n")
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fault.New(fault.Internal, "the file to edit: %w", err)
	}
	run := exec.CommandContext(ctx, command[0], append(command[1:], file.Name())...)
	run.Stdin, run.Stdout, run.Stderr, run.Env = p.Stdin, p.Stdout.Writer, p.Stderr, p.World.Environment
	if err := run.Run(); err != nil {
		return nil, fault.New(fault.InvalidParams, "--editor: %s: %w", command[0], err)
	}
	written, err := os.ReadFile(file.Name())
	if err != nil {
		return nil, fault.New(fault.Internal, "the file that was edited: %w", err)
	}
	var lines []string
	for line := range strings.Lines(string(written)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	result := strings.TrimSpace(strings.Join(lines, ""))
	if result == "" {
		return nil, stillWaits(terminal.ErrNoAnswer)
	}
	return jsonvalue.Encode(jsonvalue.TextOrValue(result))
}

// editor is the command of VISUAL or EDITOR, with its arguments.
func (p *program) editor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if text, _ := p.Variable(name); strings.TrimSpace(text) != "" {
			return strings.Fields(text)
		}
	}
	return nil
}

package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/engines/mcpclient"
	"savant/fault"
	"savant/think"
	"savant/think/library"
)

// display shows a run to a person.
type display struct {
	out      io.Writer
	coloured bool
	steps    int // number of instructions shown
}

// maxShown is how much of an input or a result is shown, in bytes.
const maxShown = 240

func (d *display) paint(colour terminal.Colour, text string) string {
	return terminal.Paint(d.coloured, colour, text)
}

// line prints one labelled line.
func (d *display) line(label, text string) {
	fmt.Fprintf(d.out, "  %s %s\n", d.paint(terminal.Faint, fmt.Sprintf("%-7s", label)), text)
}

func (d *display) server(client *mcpclient.Client, tools []engines.Tool, driver library.DriverPrompt) {
	name, version, protocol := client.ServerInfo()
	fmt.Fprintln(d.out, d.paint(terminal.Bold, "The workflow "+demoWorkflow+", guided over MCP"))
	d.line("server", fmt.Sprintf("%s %s, protocol %s, %s", terminal.Visible(name), terminal.Visible(version), terminal.Visible(protocol), terminal.Count(len(tools), "tool")))
	d.line("driver", fmt.Sprintf("prompt %s, %d bytes, sha256 %.12s…", terminal.Visible(driver.Version), len(driver.PromptMD), strings.TrimPrefix(driver.Hash, "sha256:")))
}

func (d *display) instruction(reply think.Reply) {
	d.steps++
	next := reply.Instruction
	title := fmt.Sprintf("%d. %s", d.steps, terminal.Visible(next.StepID))
	if next.Attempt > 1 {
		title += fmt.Sprintf(" (attempt %d)", next.Attempt)
	}
	fmt.Fprintf(d.out, "\n%s\n", d.paint(terminal.Bold, title))
	if next.Rationale != "" {
		d.line("why", terminal.Visible(strings.TrimSpace(next.Rationale)))
	}
	d.line("call", terminal.Visible(next.Call)+" "+oneLine(next.Input))
}

func (d *display) result(result json.RawMessage) { d.line("result", oneLine(result)) }

func (d *display) refusal(err *fault.Error) {
	d.line(d.paint(terminal.Red, "refused"), terminal.Visible(string(err.Code)+": "+err.Message()))
}

// oneLine returns a value on one line, truncated.
func oneLine(value json.RawMessage) string {
	return terminal.Visible(fault.Cut(string(value), maxShown))
}

// final shows how the run ended and where its record is.
func (d *display) final(reply think.Reply, path string) {
	colour := terminal.Green
	if reply.Outcome != "done" {
		colour = terminal.Red
	}
	fmt.Fprintf(d.out, "\n%s %s\n", d.paint(colour, terminal.Visible(reply.Outcome)+":"), terminal.Visible(fmt.Sprint(reply.Summary)))
	for _, each := range reply.Failed {
		d.line("failed", terminal.Visible(fmt.Sprintf("%s: %s: %s", each.Step, each.Code, each.Details)))
	}
	if len(reply.Outputs) > 0 {
		d.line("outputs", oneLine(reply.Outputs))
	}
	ran := d.steps
	if reply.Ran != nil {
		ran = *reply.Ran
	}
	d.line("steps", fmt.Sprintf("%d ran, %s carried out by this client", ran, terminal.Count(d.steps, "instruction")))
	d.line("run", reply.State.RunID)
	d.line("state", filepath.Join(path, ".savant", "state", demoWorkflow, reply.State.RunID+".journal"))
}

// Package demo is a complete client of Savant: it starts a server, reads the driver
// prompt and follows instructions until the run has ended.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"savant/cmd/savant/app"
	"savant/engines"
	"savant/engines/mcpclient"
	"savant/fault"
	"savant/internal/gitrun"
	"savant/internal/settings"
	"savant/schemas"
	"savant/think"
	"savant/think/library"
)

// demoWorkflow needs only git.
const demoWorkflow = "repo_tour"

// Options configure the demo.
type Options struct {
	// Repository is a folder of the git repository to show.
	Repository  string
	Version     string
	Environment []string
	Settings    settings.Settings
	Stdout      io.Writer
	// Stderr gets the server's log.
	Stderr   io.Writer
	Coloured bool
}

// Run drives a workflow through its own server and shows every step. It returns
// TOOL_FAILED if the run did not succeed.
func Run(ctx context.Context, options Options) error {
	top, err := topOf(ctx, options.Repository)
	if err != nil {
		return err
	}
	path, err := app.AbsolutePath(options.Settings)
	if err != nil {
		return err
	}
	child, err := startServer(ctx, options, path, top)
	if err != nil {
		return err
	}
	show := &display{out: options.Stdout, coloured: options.Coloured}
	reply, err := tour(ctx, child.client, show, repositoryPath(path, top))
	if err := errors.Join(err, child.stop()); err != nil {
		return err
	}
	show.final(reply, options.Settings.Path)
	if !reply.Done || reply.Outcome != "done" {
		return fault.New(fault.ToolFailed, "the run ended with outcome %q", reply.Outcome)
	}
	return nil
}

// topOf returns the top folder of a folder's repository.
func topOf(ctx context.Context, folder string) (string, error) {
	out, err := gitrun.Run(ctx, gitrun.Command{Folder: folder, Limit: 64 << 10, Args: []string{"rev-parse", "--show-toplevel"}})
	switch {
	case errors.Is(err, fault.EngineOffline):
		return "", app.Misconfigured(fault.New(fault.EngineOffline, "the demo needs git, which is not installed"))
	case errors.Is(err, fault.ToolDenied):
		return "", app.Misconfigured(fault.New(fault.ToolDenied,
			"git refuses to read %s: %w; if you trust it, run `git config --global --add safe.directory FOLDER` with its top folder", folder, err))
	case err != nil:
		return "", app.Misconfigured(fault.New(fault.InvalidParams,
			"%s is not in a git repository with a working tree: change to one, or name one with --repo", folder))
	}
	return strings.TrimSuffix(string(out.Data), "\n"), nil
}

// repositoryPath returns the repository's path for the server, relative to SAVANT_PATH if it is
// below.
func repositoryPath(path, top string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	if way, err := filepath.Rel(path, top); err == nil && filepath.IsLocal(way) {
		return filepath.ToSlash(way)
	}
	return top
}

// tour drives the run and returns its last reply.
func tour(ctx context.Context, client *mcpclient.Client, show *display, repo string) (think.Reply, error) {
	var reply think.Reply
	if err := connect(ctx, client, show); err != nil {
		return reply, err
	}
	err := client.Ask(ctx, "think.plan", map[string]any{"workflow": demoWorkflow, "params": map[string]any{"repo": repo}}, &reply)
	for err == nil && !reply.Done && reply.Instruction != nil {
		reply, err = follow(ctx, client, show, reply)
	}
	return reply, err
}

// connect shows what a client reads first: the tools and the driver prompt.
func connect(ctx context.Context, client *mcpclient.Client, show *display) error {
	tools, err := client.Tools(ctx)
	if err != nil {
		return err
	}
	var driver library.DriverPrompt
	if err := client.Ask(ctx, "think.driver_prompt", struct{}{}, &driver); err != nil {
		return err
	}
	show.server(client, tools, driver)
	return nil
}

// follow executes an instruction and sends the result. It repeats a refused one until
// the server ends the attempts.
func follow(ctx context.Context, client *mcpclient.Client, show *display, reply think.Reply) (think.Reply, error) {
	instruction := reply.Instruction
	show.instruction(reply)
	result, err := client.Call(ctx, instruction.Call, instruction.Input)
	if err != nil {
		if result, err = failed(err); err != nil {
			return reply, err
		}
	}
	show.result(result)
	var next think.Reply
	args := map[string]any{"workflow": demoWorkflow, "run_id": reply.State.RunID, "step_id": instruction.StepID}
	if receipt := receiptOf(result); receipt != "" {
		args["result_ref"] = receipt
	} else {
		args["result_snapshot"] = result
	}
	err = client.Ask(ctx, "think.next", args, &next)
	if errors.Is(err, fault.ValidationFailed) || errors.Is(err, fault.ToolFailed) {
		show.refusal(fault.From(err))
		return reply, nil
	}
	return next, err
}

// receiptOf returns the receipt in a tool's reply, or "".
func receiptOf(result json.RawMessage) string {
	var members map[string]json.RawMessage
	var receipt string
	if json.Unmarshal(result, &members) != nil || json.Unmarshal(members[engines.ReceiptKey], &receipt) != nil {
		return ""
	}
	return receipt
}

// failed returns a failed tool's result as a client sends it: the receipt if there is
// one, else a CallToolResult with isError. If the server is gone, it returns the error.
func failed(failed error) (json.RawMessage, error) {
	if errors.Is(failed, fault.EngineOffline) {
		return nil, failed
	}
	text, err := json.Marshal(fault.From(failed))
	if err != nil || receiptOf(text) != "" {
		return text, err
	}
	return json.Marshal(schemas.FailedCall(failed))
}

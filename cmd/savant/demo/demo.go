// Package demo is a complete client of Savant: it starts a server, reads the driver
// prompt and follows instructions until the run is done.
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
	"savant/think"
	"savant/think/library"
)

// demoWorkflow is what the demo drives: it needs git alone.
const demoWorkflow = "repo_tour"

// Options are what the demo is run with.
type Options struct {
	// Repository is a folder of the git repository that is shown.
	Repository  string
	Version     string
	Environment []string
	Settings    settings.Settings
	Stdout      io.Writer
	// Stderr gets the log of the server.
	Stderr   io.Writer
	Coloured bool
}

// Run drives a workflow through a server of its own and shows every step. The
// error is TOOL_FAILED where the run did not end well.
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
	reply, err := tour(ctx, child.client, show, named(path, top))
	if err := errors.Join(err, child.stop()); err != nil {
		return err
	}
	show.final(reply, options.Settings.Path)
	if !reply.Done || reply.Outcome != "done" {
		return fault.New(fault.ToolFailed, "the run ended with outcome %q", reply.Outcome)
	}
	return nil
}

// topOf returns the top folder of the repository around a folder.
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
			"%s is not in a git repository with a working tree: go to one, or name one with --repo", folder))
	}
	return strings.TrimSuffix(string(out.Data), "\n"), nil
}

// named is the repository's path for the server: relative to SAVANT_PATH where it is
// below.
func named(path, top string) string {
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
	if err := greet(ctx, client, show); err != nil {
		return reply, err
	}
	err := ask(ctx, client, "think.plan", map[string]any{"workflow": demoWorkflow, "params": map[string]any{"repo": repo}}, &reply)
	for err == nil && !reply.Done && reply.Instruction != nil {
		reply, err = follow(ctx, client, show, reply)
	}
	return reply, err
}

// greet reads what a client reads first: the tools and the driver prompt.
func greet(ctx context.Context, client *mcpclient.Client, show *display) error {
	tools, err := client.Tools(ctx)
	if err != nil {
		return err
	}
	var driver library.DriverPrompt
	if err := ask(ctx, client, "think.driver_prompt", struct{}{}, &driver); err != nil {
		return err
	}
	show.server(client, tools, driver)
	return nil
}

// follow does what the instruction says and hands over the result. A result
// that is refused is shown, and the instruction followed again: the server
// knows when that is enough.
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
	err = ask(ctx, client, "think.next", args, &next)
	if errors.Is(err, fault.ValidationFailed) || errors.Is(err, fault.ToolFailed) {
		show.refusal(fault.From(err))
		return reply, nil
	}
	return next, err
}

// receiptOf returns the receipt that a tool's reply carries, or "".
func receiptOf(result json.RawMessage) string {
	var members map[string]json.RawMessage
	var receipt string
	if json.Unmarshal(result, &members) != nil || json.Unmarshal(members[engines.ReceiptKey], &receipt) != nil {
		return ""
	}
	return receipt
}

// failed is what a client passes on of a tool that failed: the receipt where
// the server saw it, else a CallToolResult with isError. A server that is gone
// is the caller's error.
func failed(err error) (json.RawMessage, error) {
	if errors.Is(err, fault.EngineOffline) {
		return nil, err
	}
	text, err := json.Marshal(fault.From(err))
	if err != nil || receiptOf(text) != "" {
		return text, err
	}
	return json.Marshal(map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": string(text)}}})
}

// ask calls a tool and reads its result.
func ask(ctx context.Context, client *mcpclient.Client, tool string, args, into any) error {
	raw, err := client.Call(ctx, tool, args)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.New(fault.Internal, "%s answered what cannot be read: %w", tool, err)
	}
	return nil
}

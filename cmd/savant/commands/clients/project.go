package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/engines/ci"
	"savant/engines/mount"
	"savant/fault"
	"savant/internal/ownfolder"
	"savant/internal/settings"
	"savant/internal/trust"
	"savant/think/state"
)

// hubAddress is where savant hub listens unless it is told otherwise.
const hubAddress = "127.0.0.1:9999"

// checkProject tells what of the project does not work, and what mends it.
func (d *doctor) checkProject(ctx context.Context) {
	fmt.Fprintln(d.Stdout, "This project")
	d.Open.Looking = true
	if err := d.With(ctx, func(a *app.App) error {
		d.workflows(ctx, a)
		d.packages(a)
		d.parts(a)
		d.engines(ctx, a)
		d.files(a)
		d.runs(ctx, a)
		return nil
	}); err != nil {
		d.wrong(fault.From(err).Message(), "savant config show")
		return
	}
	model := d.Loaded.Reasoning.LLM + d.Loaded.Reasoning.SLM + d.Loaded.Reasoning.URL
	switch {
	case model == "":
		d.note("no model is set: name one with LLM_MODEL=PROVIDER:NAME, or let a client answer")
	default:
		d.right("a model is set; savant reasoning decide asks it")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", hubAddress)
	if err != nil {
		d.note("the hub would not get " + hubAddress + ", which is in use: savant hub --address 127.0.0.1:0")
		return
	}
	_ = listener.Close() // nothing was accepted
	d.right("the hub can be served at %s: savant hub", hubAddress)
}

func (d *doctor) workflows(ctx context.Context, a *app.App) {
	if _, err := a.Root.Stat("workflows"); errors.Is(err, fs.ErrNotExist) {
		d.note("the project has no workflow of its own: savant init begins one")
		return
	}
	files, err := a.CheckWorkflows(ctx, nil, false)
	if err != nil {
		d.wrong(fault.From(err).Message(), "savant workflows validate")
		return
	}
	invalid := 0
	for _, each := range files {
		if !each.Valid {
			invalid++
		}
	}
	if invalid > 0 {
		d.wrong(fmt.Sprintf("errors in %d of %s of workflows and schemas", invalid, terminal.Count(len(files), "file")), "savant workflows validate")
		return
	}
	d.right("%s of workflows and schemas, without errors", terminal.Count(len(files), "file"))
}

// packages tells which packages are not here as workflows.lock names them.
func (d *doctor) packages(a *app.App) {
	missing, err := a.Packages().Missing()
	if err != nil {
		d.wrong(fault.From(err).Message(), "git diff workflows.lock")
	}
	for _, each := range missing {
		d.wrong("the content of the package "+each.Name+" is not here, or is not what workflows.lock names", "savant workflows fetch")
	}
}

// parts tells which parts of the folder are not used because nobody has trusted them.
func (d *doctor) parts(a *app.App) {
	var names []string
	untrusted := slices.DeleteFunc(app.WhatIsBrought(a.Path, d.Loaded.Parts).Parts, d.Loaded.Folder.Accepts)
	for _, each := range untrusted {
		names = append(names, trust.Part.ID(each))
	}
	if len(names) == 0 {
		d.right("every part of the folder that must be trusted is")
		return
	}
	d.wrong("not trusted, and so not used, in this folder: "+strings.Join(names, ", "), "savant trust")
}

// files tells of the rules, without which no tool is called, and of the file of servers.
func (d *doctor) files(a *app.App) {
	if _, err := a.Rules(); err != nil {
		what, _, _ := strings.Cut(fault.From(err).Message(), "\n")
		d.wrong("no tool is called, since the rules cannot be read: "+what, "savant rules check")
	}
	for _, each := range a.Mounts.Problems() {
		d.wrong(each.Message(), "edit "+mount.File)
	}
}

// runs tells whether runs can be kept where they are to be, and of damaged ones.
func (d *doctor) runs(ctx context.Context, a *app.App) {
	if all, err := a.Runs(ctx, app.OfWorkflow, app.OfAgent); err == nil {
		damaged := slices.DeleteFunc(all, func(each app.Run) bool { return each.Status != state.StatusDamaged })
		if len(damaged) > 0 {
			d.wrong(terminal.Count(len(damaged), "damaged run")+", the last one "+damaged[0].RunID, "savant state check --all")
		}
	}
	if d.Settings.Store == settings.StoreMongo {
		d.right("the database answers, and keeps the runs")
		return
	}
	folder, err := a.TryState()
	if err != nil {
		remedy := cmp.Or(ownfolder.AdviceOn(err), "check the disk of the folder")
		switch {
		case ownfolder.Displaced(err):
			remedy = "mv " + folder + " " + folder + ".aside"
		case errors.Is(err, fs.ErrPermission):
			remedy = "sudo chown -R $(id -u) " + folder
		}
		d.wrong("no run can be kept in "+folder+": "+ownfolder.Reason(err).Error(), remedy)
		return
	}
	d.right("runs are kept in the folder")
}

// engines tells whether the project's commands and its repository can be read, and which
// engines say that something is missing.
func (d *doctor) engines(ctx context.Context, a *app.App) {
	for _, each := range a.Tools.Health(ctx) {
		if each.Engine == "git" && each.Reason == "" {
			status, _ := a.Tools.Resolve("git.status")
			if _, err := status.Call(ctx, engines.Call{}, json.RawMessage(`{}`)); err != nil {
				each.Reason = fault.From(err).Message()
				if errors.Is(err, fault.InvalidParams) {
					each.Reason = "no repository is here: git init makes one"
				}
			}
		}
		switch {
		case strings.HasPrefix(each.Reason, ci.File+":") && !strings.HasPrefix(each.Reason, ci.File+": "): // a line cannot be read
			d.wrong("ci: "+each.Reason, "edit "+ci.File)
		case each.Reason != "":
			d.note(terminal.Visible(each.Engine + ": " + each.Reason))
		case each.Engine == "ci" || each.Engine == "git":
			d.right("%s: %s", each.Engine, each.State)
		}
	}
}

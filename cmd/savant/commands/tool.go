package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"savant/cmd/savant/app"
	"savant/cmd/savant/terminal"
	"savant/engines"
	"savant/fault"
)

// describeTool prints what a person needs to call a tool, or to write a step that does.
func (p *program) describeTool(ctx context.Context, a *app.App, name string) error {
	if err := a.AwaitServers(ctx, a.Tools); err != nil {
		return err
	}
	tool, known := a.Tools.Resolve(name)
	if !known && slices.Contains(a.Tools.Engines(), name) {
		return p.tableOfTools(a.Tools.Only(name).Tools())
	}
	if !known {
		unknown := fault.New(fault.UnknownTool, "no tool is named %q", fault.Cut(name, 200))
		var names []string
		for _, each := range a.Tools.Tools() {
			names = append(names, each.Name)
		}
		return unknown.Hinted(fault.HintOf(name, names)).Hinted(fault.Hint{Call: "savant tools", Text: "lists them"})
	}
	described, err := tool.Describe()
	if err != nil {
		return err
	}
	if p.JSON {
		return p.Print(described)
	}
	fmt.Fprintf(p.Stdout, "%s\n%s\n", tool.Name, tool.Description)
	for _, part := range []struct {
		title  string
		fields []engines.Field
	}{{"ARGUMENT", described.Arguments}, {"RESULT", described.Result}} {
		if len(part.fields) == 0 {
			continue
		}
		fmt.Fprintln(p.Stdout)
		err := terminal.Table(p.Stdout, []string{part.title, "IS", "MEANS"}, part.fields, func(field engines.Field) []string {
			meaning := field.Doc
			if field.Required && part.title == "ARGUMENT" {
				meaning = strings.TrimSpace("required. " + meaning)
			}
			return []string{field.Name, field.Type, meaning}
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(p.Stdout, "\n  savant call %s --args '%s'\n", tool.Name, strings.ReplaceAll(string(described.Example), "'", `'\''`))
	if step := engines.Step(tool.Name, described.Example); step != "" {
		fmt.Fprintf(p.Stdout, "\n%s", step)
	}
	return nil
}

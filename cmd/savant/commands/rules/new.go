package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"savant/cmd/savant/app"
	"savant/cmd/savant/cli"
	"savant/engines"
	"savant/fault"
	"savant/internal/pattern"
	"savant/rules"
	"savant/think/flow"
)

var fileName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func (p *program) newCommand() *cobra.Command {
	var openapi string
	var tools bool
	command := &cobra.Command{Use: "new NAME", Short: "Write a skeleton of rules from what tools say of themselves", Args: cli.Positional(cobra.ExactArgs(1)),
		Long: "Write rules/NAME.yaml with the rules that annotations suggest. A tool that changes something needs a read with the same arguments\n" +
			"first; one that is not idempotent is not called twice alike; one that destroys something asks a person. The rules only warn: go\n" +
			"over them and remove mode: warn.",
		Example: "  savant rules new shop --tools\n  savant rules new shop --from-openapi openapi.yaml",
		RunE: p.OnApp(func(_ context.Context, a *app.App, args []string) error {
			name := args[0]
			if !fileName().MatchString(name) || strings.HasSuffix(name, ".cases") {
				return cli.UsageError("NAME: expected letters, digits, _ and -")
			}
			if !tools && openapi == "" {
				return cli.UsageError("from what: --tools or --from-openapi FILE?")
			}
			all, err := published(a)
			if !tools {
				all, err = p.operationsOf(openapi, name)
			}
			if err != nil {
				return err
			}
			text := rules.Skeleton(name, all)
			if text == "" {
				return fault.New(fault.InvalidParams, "no tool was found that changes something, so no rule is suggested")
			}
			if _, err := rules.Parse("rules/"+name+".yaml", []byte(text)); err != nil {
				return err
			}
			return p.writeRules(a.Root, written{name + ".yaml", []byte(text)})
		})}
	command.Flags().StringVar(&openapi, "from-openapi", "", "take the operations of an OpenAPI document as tools NAME.OPERATION, - for stdin")
	command.Flags().BoolVar(&tools, "tools", false, "take the tools of this project, those of mounted servers too")
	command.MarkFlagsMutuallyExclusive("from-openapi", "tools")
	return command
}

// guiding are the engines whose tools only guide: a rule about them would be in the way.
var guiding = []string{"think", "rules", "agent"}

// published describes the tools of the project.
func published(a *app.App) (all []rules.Operation, err error) {
	for _, name := range a.Tools.Names() {
		tool, _ := a.Tools.Resolve(name)
		if slices.Contains(guiding, engines.EngineOf(name)) {
			continue
		}
		var schema struct{ Required []string }
		if err := json.Unmarshal(tool.Input, &schema); err != nil {
			return nil, fault.New(fault.Internal, "the schema of %s: %w", name, err)
		}
		all = append(all, rules.Operation{Tool: name, Required: schema.Required, ReadOnly: tool.ReadOnly, Destructive: tool.Destructive, Idempotent: tool.Idempotent})
	}
	return all, nil
}

// methods are those of OpenAPI, with what HTTP says of each.
var methods = map[string]rules.Operation{"get": {ReadOnly: true, Idempotent: true}, "head": {ReadOnly: true, Idempotent: true},
	"put": {Idempotent: true}, "delete": {Idempotent: true, Destructive: true}, "post": {}, "patch": {}}

// document is what is read of an OpenAPI document.
type document struct {
	Paths map[string]map[string]json.RawMessage
}

type operation struct {
	OperationID string `json:"operationId"`
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Schema struct{ Required []string } }
	}
}

type parameter struct {
	Name, In string
	Required bool
}

// operationsOf reads the operations of an OpenAPI document. One without an operationId
// is named by its method and path.
func (p *program) operationsOf(file, engine string) (all []rules.Operation, err error) {
	source, err := p.Read("--from-openapi", file, maxCases)
	if err != nil {
		return nil, err
	}
	value, err := flow.ReadYAML(file, source)
	if err != nil {
		return nil, err
	}
	var read document
	if text, err := json.Marshal(value); err != nil || json.Unmarshal(text, &read) != nil || len(read.Paths) == 0 {
		return nil, fault.New(fault.InvalidParams, "--from-openapi: expected an OpenAPI document with paths")
	}
	for path, item := range read.Paths {
		var common []parameter
		if raw := item["parameters"]; raw != nil && json.Unmarshal(raw, &common) != nil {
			return nil, fault.New(fault.InvalidParams, "--from-openapi: the parameters of %s are no list", fault.Cut(path, 100))
		}
		for method, made := range methods {
			raw := item[method]
			if raw == nil {
				continue
			}
			var read operation
			if err := json.Unmarshal(raw, &read); err != nil {
				return nil, fault.New(fault.InvalidParams, "--from-openapi: %s %s cannot be read: %w", method, fault.Cut(path, 100), err)
			}
			made.Tool, made.Required = nameOf(engine, method, path, read), required(read, common)
			all = append(all, made)
		}
	}
	return all, nil
}

var notInNames = pattern.Lazy(`[^A-Za-z0-9_-]+`)

func nameOf(engine, method, path string, o operation) string {
	name := cmp.Or(o.OperationID, method+"_"+strings.Trim(path, "/"))
	return engine + "." + strings.Trim(notInNames().ReplaceAllString(name, "_"), "_")
}

// required returns the names of the arguments that an operation cannot do without.
func required(o operation, common []parameter) []string {
	names := slices.Clone(o.RequestBody.Content["application/json"].Schema.Required)
	for _, each := range slices.Concat(common, o.Parameters) {
		if each.Required && (each.In == "path" || each.In == "query") {
			names = append(names, each.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

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
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/rules"
	"savant/think/flow"
)

var fileName = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func (p *program) newCommand() *cobra.Command {
	var openapi string
	var tools bool
	command := &cobra.Command{Use: "new NAME", Short: "Write a skeleton of rules from the annotations of tools", Args: cli.Positional(cobra.ExactArgs(1)),
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
			return p.writeRules(a.Root, ruleFile{name + ".yaml", []byte(text)})
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
		if err := json.Unmarshal(tool.InputSchema(), &schema); err != nil {
			return nil, fault.New(fault.Internal, "the schema of %s: %w", name, err)
		}
		all = append(all, rules.Operation{Tool: name, Required: schema.Required, ReadOnly: tool.ReadOnly, Destructive: tool.Destructive, Idempotent: tool.Idempotent})
	}
	return all, nil
}

// methods are those of OpenAPI, with what HTTP says of each.
var methods = map[string]rules.Operation{"get": {ReadOnly: true, Idempotent: true}, "head": {ReadOnly: true, Idempotent: true},
	"put": {Idempotent: true}, "delete": {Idempotent: true, Destructive: true}, "post": {}, "patch": {}}

// document is an OpenAPI document.
type document map[string]any

// at follows names from a value; what refers to another place of the document is taken from
// there. It returns nil if nothing is there.
func (d document) at(value any, names ...string) map[string]any {
	object, _ := value.(map[string]any)
	for range maxReferences {
		pointer, refers := object["$ref"].(string)
		if !refers {
			break
		}
		object = d
		for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "#/"), "/") {
			object, _ = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)].(map[string]any)
		}
	}
	if len(names) == 0 {
		return object
	}
	return d.at(object[names[0]], names[1:]...)
}

// maxReferences bounds the references from one to the next.
const maxReferences = 8

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
	root, _ := value.(map[string]any)
	read := document(root)
	paths := read.at(root, "paths")
	if len(paths) == 0 {
		return nil, fault.New(fault.InvalidParams, "--from-openapi: expected an OpenAPI document with paths")
	}
	for path := range paths {
		item := read.at(paths, path)
		for method, made := range methods {
			if operation := read.at(item, method); operation != nil {
				id, _ := operation["operationId"].(string)
				made.Tool, made.Required = nameOf(engine, cmp.Or(id, method+"_"+strings.Trim(path, "/"))), read.required(item, operation)
				all = append(all, made)
			}
		}
	}
	return all, nil
}

var notInNames = pattern.Lazy(`[^A-Za-z0-9_-]+`)

func nameOf(engine, operation string) string {
	return engine + "." + strings.Trim(notInNames().ReplaceAllString(operation, "_"), "_")
}

// required returns the names of the arguments that an operation of a path cannot do without.
func (d document) required(item, operation map[string]any) []string {
	names := jsonvalue.Texts(d.at(operation, "requestBody", "content", "application/json", "schema")["required"])
	for _, of := range []map[string]any{item, operation} {
		list, _ := of["parameters"].([]any)
		for _, each := range list {
			parameter := d.at(each)
			if name, is := parameter["name"].(string); is && parameter["required"] == true && (parameter["in"] == "path" || parameter["in"] == "query") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

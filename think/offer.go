package think

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/think/flow"
)

// The resources of a server. A variable of a template is one path segment.
const (
	workflowPrefix = "savant://workflows/"
	schemaPrefix   = "savant://schemas/"
	promptPrefix   = "savant://prompts/driver/"
	runPrefix      = "savant://runs/"
	artifactPrefix = "savant://artifacts/"
)

func varURI(workflow, run, name string) string {
	return runPrefix + workflow + "/" + run + "/vars/" + name
}

func outputsURI(workflow, run string) string { return runPrefix + workflow + "/" + run + "/outputs" }

func artifactURI(digest string) string { return artifactPrefix + digest }

// DriverPromptName is the name of the driver prompt among MCP prompts.
const DriverPromptName = "driver"

// Offer returns what the server has beside tools: the driver prompt and one
// prompt for each workflow; workflows, schemas, prompts and runs as resources.
func (e *Engine) Offer(ctx context.Context) (engines.Offer, error) {
	driver, err := e.DriverPrompt(ctx, DriverPromptInput{})
	if err != nil {
		return engines.Offer{}, err
	}
	return engines.Offer{Instructions: driver.PromptMD, Prompts: e.prompts, Resources: e.resources, ReadResource: e.readResource,
		Complete: e.complete, Watch: e.watch,
		ResourceTemplates: []engines.ResourceTemplate{
			{URITemplate: workflowPrefix + "{workflow}", Name: "workflow", Title: "A workflow's YAML", MIMEType: "application/yaml"},
			{URITemplate: schemaPrefix + "{schema}", Name: "schema", Title: "A named schema", MIMEType: "application/schema+json"},
			{URITemplate: promptPrefix + "{version}", Name: "driver_prompt", Title: "A driver prompt", MIMEType: "text/markdown"},
			{URITemplate: runPrefix + "{workflow}/{run_id}", Name: "run", Title: "The state of a run", MIMEType: "application/json"},
			{URITemplate: runPrefix + "{workflow}/{run_id}/steps/{step_id}", Name: "step", Title: "Why a step is where it is", MIMEType: "application/json"},
			{URITemplate: runPrefix + "{workflow}/{run_id}/vars/{+name}", Name: "capture", Title: "A capture of a run, whole", MIMEType: "application/json"},
			{URITemplate: artifactPrefix + "{sha256}", Name: "artifact", Title: "A value kept by its content", MIMEType: "application/json"},
		}}, nil
}

func (e *Engine) prompts(ctx context.Context) ([]engines.Prompt, error) {
	list := []engines.Prompt{{Name: DriverPromptName, Title: "How to follow a Savant workflow", Description: "The driver prompt",
		Arguments: []engines.PromptArgument{{Name: "version", Description: "default: the latest"}},
		Get: func(ctx context.Context, args map[string]string) (string, error) {
			prompt, err := e.DriverPrompt(ctx, DriverPromptInput{Version: args["version"]})
			if err != nil {
				return "", err
			}
			return prompt.PromptMD, nil
		}}}
	for _, entry := range e.Library.List() {
		if entry.Err == nil && entry.Name != DriverPromptName {
			list = append(list, e.workflowPrompt(entry.Workflow))
		}
	}
	return list, nil
}

func (e *Engine) workflowPrompt(workflow *flow.Workflow) engines.Prompt {
	prompt := engines.Prompt{Name: workflow.Name, Title: "Run the workflow " + workflow.Name, Description: workflow.Description}
	for _, param := range workflow.Params {
		prompt.Arguments = append(prompt.Arguments, engines.PromptArgument{Name: param.Name, Description: param.Description, Required: param.Required})
	}
	prompt.Get = func(ctx context.Context, args map[string]string) (string, error) {
		params, err := typed(workflow, args)
		if err != nil {
			return "", err
		}
		driver, err := e.DriverPrompt(ctx, DriverPromptInput{})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s\n\nNow follow the workflow `%s`: call think.plan with\n\n```json\n%s\n```\n", strings.TrimSpace(driver.PromptMD), workflow.Name,
			encoded(map[string]any{"workflow": workflow.Name, "params": params})), nil
	}
	return prompt
}

// typed reads prompt arguments, which are always text, as the parameters'
// schemas say, and checks them.
func typed(workflow *flow.Workflow, args map[string]string) (map[string]any, error) {
	params := map[string]any{}
	for name, text := range args {
		params[name] = text
		at := slices.IndexFunc(workflow.Params, func(p flow.Param) bool { return p.Name == name })
		if at < 0 {
			continue
		}
		schema, _ := workflow.Params[at].Schema.(map[string]any)
		if schema["type"] != "string" {
			params[name] = unwrapped(text, map[string]any{})
		}
	}
	if _, err := workflow.Bind(params); err != nil {
		return nil, err
	}
	return params, nil
}

// maxRunsListed bounds the runs among the listed resources; the template
// reaches all of them.
const maxRunsListed = 50

func (e *Engine) resources(ctx context.Context) ([]engines.Resource, error) {
	var list []engines.Resource
	for _, entry := range e.Library.List() {
		r := engines.Resource{URI: workflowPrefix + entry.Name, Name: entry.Name, Title: "Workflow " + entry.Name, MIMEType: "application/yaml"}
		if entry.Workflow != nil {
			r.Description = entry.Workflow.Description
		}
		list = append(list, r)
	}
	set, err := e.Library.Schemas()
	if err != nil {
		return nil, err
	}
	for _, name := range set.Names() {
		r := engines.Resource{URI: schemaPrefix + name, Name: name, Title: "Schema " + name, MIMEType: "application/schema+json"}
		if broken := set.Broken(name); broken != nil {
			r.Description = "not valid: " + broken.Details
		}
		list = append(list, r)
	}
	_, files, err := e.Library.drivers()
	if err != nil {
		return nil, err
	}
	for _, version := range sortedKeys(files) {
		list = append(list, engines.Resource{URI: promptPrefix + version, Name: "driver " + version, Title: "Driver prompt " + version, MIMEType: "text/markdown"})
	}
	runs, err := e.Store.List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, info := range runs[:min(maxRunsListed, len(runs))] {
		list = append(list, engines.Resource{URI: runPrefix + info.Workflow + "/" + info.Run, Name: info.Run,
			Title: info.Workflow + " " + info.Run + " (" + info.Status + ")", MIMEType: "application/json"})
	}
	return list, nil
}

func (e *Engine) readResource(ctx context.Context, uri string) (text, mimeType string, err error) {
	if name, ok := strings.CutPrefix(uri, workflowPrefix); ok {
		workflow, err := e.Library.Find(name, "")
		if err != nil {
			return e.brokenSource(name, err)
		}
		return string(workflow.Source), "application/yaml", nil
	}
	if name, ok := strings.CutPrefix(uri, schemaPrefix); ok {
		set, err := e.Library.Schemas()
		if err != nil {
			return "", "", err
		}
		schema, err := set.Named(name)
		if err != nil {
			return "", "", err
		}
		return string(encoded(schema.JSON())), "application/schema+json", nil
	}
	if version, ok := strings.CutPrefix(uri, promptPrefix); ok {
		prompt, err := e.DriverPrompt(ctx, DriverPromptInput{Version: version})
		if err != nil {
			return "", "", err
		}
		return prompt.PromptMD, "text/markdown", nil
	}
	if digest, ok := strings.CutPrefix(uri, artifactPrefix); ok {
		data, err := e.Store.Artifact(ctx, digest)
		return string(data), "application/json", err
	}
	if rest, ok := strings.CutPrefix(uri, runPrefix); ok {
		return e.readRun(ctx, rest)
	}
	return "", "", fault.New(fault.InvalidParams, "no resource %q", fault.Cut(uri, 200))
}

// brokenSource returns the text of a workflow that does not parse: reading it
// is how a person mends it.
func (e *Engine) brokenSource(name string, cause error) (string, string, error) {
	for at := range slices.Backward(e.Library.layers) {
		if _, read, err := e.Library.workflow(at, name); err == nil {
			return string(read.src), "application/yaml", nil
		}
	}
	return "", "", cause
}

// readRun reads WORKFLOW/RUN, and below it steps/ID, vars/NAME or outputs.
func (e *Engine) readRun(ctx context.Context, rest string) (string, string, error) {
	parts := strings.SplitN(rest, "/", 4)
	if len(parts) < 2 {
		return "", "", fault.New(fault.UnknownRun, "a run is savant://runs/WORKFLOW/RUN")
	}
	kind, name := "", ""
	if len(parts) > 2 {
		kind = parts[2]
	}
	if len(parts) > 3 {
		name = parts[3]
	}
	var value any
	var err error
	switch {
	case kind == "":
		value, err = e.StateGet(ctx, StateGetInput{Workflow: parts[0], RunID: parts[1]})
	case kind == "steps" && name != "":
		value, err = e.Explain(ctx, ExplainInput{Workflow: parts[0], RunID: parts[1], StepID: name})
	case kind == "vars" && name != "":
		var got *StateGet
		if got, err = e.StateGet(ctx, StateGetInput{Workflow: parts[0], RunID: parts[1], Var: name}); err == nil {
			value = got.Value
		}
	case kind == "outputs":
		value, err = e.outputs(ctx, parts[0], parts[1])
	default:
		err = fault.New(fault.InvalidParams, "a run has steps/ID, vars/NAME and outputs")
	}
	if err != nil {
		return "", "", err
	}
	return string(encoded(value)), "application/json", nil
}

func (e *Engine) outputs(ctx context.Context, workflow, run string) (any, error) {
	l, err := e.open(ctx, workflow, run)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	final := l.run.Final()
	if final == nil {
		return nil, fault.New(fault.InvalidTransition, "run %q is %s: it has no outputs yet", run, l.run.Status())
	}
	return final.Outputs, nil
}

// complete returns the values for an argument that start with prefix.
func (e *Engine) complete(ctx context.Context, ref, argument, prefix string, chosen map[string]string) ([]string, error) {
	var values []string
	switch argument {
	case "workflow":
		values = e.Library.Names()
	case "version":
		values = e.versions(ref, chosen["workflow"])
	case "schema":
		set, err := e.Library.Schemas()
		if err != nil {
			return nil, err
		}
		values = set.Names()
	case "run_id":
		runs, err := e.Store.List(ctx, chosen["workflow"])
		if err != nil {
			return nil, err
		}
		for _, info := range runs {
			values = append(values, info.Run)
		}
	case "step_id":
		values = e.stepIDs(ctx, chosen["workflow"], chosen["run_id"])
	default:
		values = e.paramValues(ref, argument)
	}
	matching := []string{}
	for _, value := range values {
		if strings.HasPrefix(value, prefix) && !slices.Contains(matching, value) {
			matching = append(matching, value)
		}
	}
	return matching, nil
}

func (e *Engine) versions(ref, workflow string) []string {
	if ref == DriverPromptName || strings.HasPrefix(ref, promptPrefix) {
		_, files, err := e.Library.drivers()
		if err != nil {
			return nil
		}
		return sortedKeys(files)
	}
	if workflow == "" {
		workflow = ref
	}
	return e.Library.Versions(workflow)
}

func (e *Engine) stepIDs(ctx context.Context, workflow, run string) []string {
	if run != "" {
		got, err := e.StateGet(ctx, StateGetInput{Workflow: workflow, RunID: run})
		if err != nil {
			return nil
		}
		ids := make([]string, len(got.Snapshot.Steps))
		for i, step := range got.Snapshot.Steps {
			ids[i] = step.ID
		}
		return ids
	}
	graph, err := e.graph(workflow)
	if err != nil {
		return nil
	}
	var ids []string
	for _, step := range graph.Workflow.Steps {
		ids = append(ids, step.ID)
	}
	return ids
}

// paramValues completes a workflow prompt's argument from its schema.
func (e *Engine) paramValues(ref, argument string) []string {
	workflow, err := e.Library.Find(ref, "")
	if err != nil {
		return nil
	}
	for _, param := range workflow.Params {
		if param.Name != argument {
			continue
		}
		schema, _ := param.Schema.(map[string]any)
		if schema["type"] == "boolean" {
			return []string{"false", "true"}
		}
		choices, _ := schema["enum"].([]any)
		var values []string
		for _, choice := range choices {
			if text, ok := choice.(string); ok {
				values = append(values, text)
			} else {
				values = append(values, string(encoded(choice)))
			}
		}
		if param.HasDefault && len(values) == 0 {
			if text, ok := param.Default.(string); ok {
				values = append(values, text)
			} else if number, ok := param.Default.(int); ok {
				values = append(values, strconv.Itoa(number))
			}
		}
		return values
	}
	return nil
}

// watched are the folders of a layer whose changes are told to clients, and
// the list that changes with each.
var watched = map[string][]string{"workflows": {"prompts", "resources"}, "schemas": {"resources"}, "prompts": {"prompts", "resources"}}

package guide

import (
	"context"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/think"
)

// maxRunsListed is the maximum number of listed runs; the template reaches all of them.
const maxRunsListed = 50

func (c catalog) resources(ctx context.Context) ([]engines.Resource, error) {
	var list []engines.Resource
	for _, entry := range c.think.Library.List() {
		r := engines.Resource{URI: workflowPrefix + entry.Name, Name: entry.Name, Title: "Workflow " + entry.Name + originMark(entry), MIMEType: "application/yaml"}
		if entry.Workflow != nil {
			r.Description = entry.Workflow.Description
		}
		list = append(list, r)
	}
	skills, err := Skills(c.think.Library)
	if err != nil {
		return nil, err
	}
	for _, each := range skills {
		about, _ := each.Frontmatter["description"].(string)
		list = append(list, engines.Resource{URI: engines.SkillURI(each.Name), Name: each.Name, Title: "Skill " + each.Name, Description: about, MIMEType: "text/markdown"})
	}
	set, err := c.think.Library.Schemas()
	if err != nil {
		return nil, err
	}
	for _, name := range set.Names() {
		r := engines.Resource{URI: schemaPrefix + name, Name: name, Title: "Schema " + name, MIMEType: "application/schema+json"}
		if broken := set.Broken(name); broken != nil {
			r.Description = "not valid: " + broken.Message()
		}
		list = append(list, r)
	}
	versions, err := c.think.Library.DriverPromptVersions()
	if err != nil {
		return nil, err
	}
	for _, version := range versions {
		list = append(list, engines.Resource{URI: promptPrefix + version, Name: "driver " + version, Title: "Driver prompt " + version, MIMEType: "text/markdown"})
	}
	runs, err := c.think.StateList(ctx, think.StateListInput{Limit: maxRunsListed})
	if err != nil {
		return nil, err
	}
	for _, info := range runs.Runs {
		list = append(list, engines.Resource{URI: think.RunPrefix + info.Workflow + "/" + info.Run, Name: info.Run,
			Title: info.Workflow + " " + info.Run + " (" + info.Status + ")", MIMEType: "application/json"})
	}
	return list, nil
}

// read returns the text and the MIME type of a resource. An invalid URI is
// INVALID_PARAMS.
func (c catalog) read(ctx context.Context, uri string) (text, mimeType string, err error) {
	for _, kind := range []struct {
		prefix, mimeType string
		read             func(ctx context.Context, rest string) (string, error)
	}{
		{workflowPrefix, "application/yaml", c.readWorkflow},
		{schemaPrefix, "application/schema+json", c.readSchema},
		{promptPrefix, "text/markdown", c.readPrompt},
		{skillPrefix, "text/markdown", c.readSkill},
		{think.ArtifactPrefix, "application/json", c.readArtifact},
		{think.RunPrefix, "application/json", c.readRun},
	} {
		if rest, ok := strings.CutPrefix(uri, kind.prefix); ok {
			text, err := kind.read(ctx, rest)
			return text, kind.mimeType, err
		}
	}
	return "", "", fault.New(fault.InvalidParams, "no resource %q", fault.Cut(uri, 200))
}

// readWorkflow returns a workflow's text, even an invalid one's, so that a person can
// repair it.
func (c catalog) readWorkflow(_ context.Context, name string) (string, error) {
	workflow, err := c.think.Library.Find(name, "")
	if err == nil {
		return string(workflow.Source), nil
	}
	if source := c.think.Library.Source(name, ""); source != nil {
		return string(source), nil
	}
	return "", err
}

func (c catalog) readPrompt(ctx context.Context, version string) (string, error) {
	return c.driver(ctx, engines.Caller{}, version)
}

func (c catalog) readSchema(_ context.Context, name string) (string, error) {
	set, err := c.think.Library.Schemas()
	if err != nil {
		return "", err
	}
	schema, err := set.Lookup(name)
	if err != nil {
		return "", err
	}
	return jsonText(schema.JSON())
}

func (c catalog) readArtifact(ctx context.Context, digest string) (string, error) {
	data, err := c.think.Store.Artifact(ctx, digest)
	return string(data), err
}

// readRun reads WORKFLOW/RUN, and below it steps/ID, vars/NAME, outputs or summary.
func (c catalog) readRun(ctx context.Context, rest string) (string, error) {
	parts := strings.SplitN(rest, "/", 4)
	if len(parts) < 2 {
		return "", fault.New(fault.UnknownRun, "the address of a run is savant://runs/WORKFLOW/RUN")
	}
	parts = append(parts, "", "")
	workflow, run, kind, name := parts[0], parts[1], parts[2], parts[3]
	var value any
	var err error
	switch {
	case kind == "":
		value, err = c.think.StateGet(ctx, think.StateGetInput{Workflow: workflow, RunID: run})
	case kind == "steps" && name != "":
		value, err = c.think.Explain(ctx, think.ExplainInput{Workflow: workflow, RunID: run, StepID: name})
	case kind == "vars" && name != "":
		var got *think.StateGet
		if got, err = c.think.StateGet(ctx, think.StateGetInput{Workflow: workflow, RunID: run, Var: name, Limit: -1}); err == nil {
			value = got.Value
		}
	case kind == "outputs":
		value, err = c.think.Outputs(ctx, workflow, run)
	case kind == "summary":
		value, err = c.think.Summary(ctx, workflow, run)
	default:
		err = fault.New(fault.InvalidParams, "a run has only steps/ID, vars/NAME, outputs and summary")
	}
	if err != nil {
		return "", err
	}
	return jsonText(value)
}

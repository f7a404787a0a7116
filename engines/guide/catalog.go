package guide

import (
	"context"
	"slices"

	"savant/engines"
	"savant/think"
	"savant/think/library"
)

// The resources of a server. A variable of a template is one path segment.
const (
	workflowPrefix = "savant://workflows/"
	schemaPrefix   = "savant://schemas/"
	promptPrefix   = "savant://prompts/driver/"
	skillPrefix    = "skill://"
)

// catalog publishes Think's prompts and resources.
type catalog struct{ think *think.Engine }

// Catalog returns what the server publishes beside tools: the driver prompt and one
// prompt per workflow; workflows, schemas, prompts and runs as resources. Without a
// driver prompt it returns PROMPT_NOT_FOUND.
func Catalog(ctx context.Context, e *think.Engine) (engines.Offer, error) {
	driver, err := e.Library.DriverPrompt(ctx, library.DriverPromptInput{})
	if err != nil {
		return engines.Offer{}, err
	}
	c := catalog{e}
	return engines.Offer{Instructions: driver.PromptMD, Prompts: c.prompts, Resources: c.resources, ReadResource: c.read, Skills: c.skills,
		Complete: c.complete, Watch: c.watch,
		ResourceTemplates: []engines.ResourceTemplate{
			{URITemplate: workflowPrefix + "{workflow}", Name: "workflow", Title: "A workflow's YAML", MIMEType: "application/yaml"},
			{URITemplate: schemaPrefix + "{schema}", Name: "schema", Title: "A named schema", MIMEType: "application/schema+json"},
			{URITemplate: promptPrefix + "{version}", Name: "driver_prompt", Title: "A driver prompt", MIMEType: "text/markdown"},
			{URITemplate: think.RunPrefix + "{workflow}/{run_id}", Name: "run", Title: "The state of a run", MIMEType: "application/json"},
			{URITemplate: think.RunPrefix + "{workflow}/{run_id}/steps/{step_id}", Name: "step", Title: "Why a step is where it is", MIMEType: "application/json"},
			{URITemplate: think.RunPrefix + "{workflow}/{run_id}/vars/{+name}", Name: "capture", Title: "A capture of a run, whole", MIMEType: "application/json"},
			{URITemplate: think.ArtifactPrefix + "{sha256}", Name: "artifact", Title: "A value, addressed by its SHA-256", MIMEType: "application/json"},
		}}, nil
}

// lists maps a folder of the library to the published lists that depend on it.
var lists = map[string][]string{"workflows": {"prompts", "resources"}, "schemas": {"resources"}, "prompts": {"prompts", "resources"}}

// watch calls changed with each changed list, debounced, until ctx ends.
func (c catalog) watch(ctx context.Context, changed func(list string)) error {
	return c.think.Library.Watch(ctx, func(folders []string) {
		var names []string
		for _, folder := range folders {
			names = append(names, lists[folder]...)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			changed(name)
		}
	})
}

package guide

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"savant/think"
	"savant/think/flow"
)

// complete returns the values of an argument with a prefix.
func (c catalog) complete(ctx context.Context, ref, argument, prefix string, chosen map[string]string) ([]string, error) {
	values, err := c.values(ctx, ref, argument, chosen)
	if err != nil {
		return nil, err
	}
	matching := []string{}
	for _, value := range values {
		if strings.HasPrefix(value, prefix) && !slices.Contains(matching, value) {
			matching = append(matching, value)
		}
	}
	return matching, nil
}

func (c catalog) values(ctx context.Context, ref, argument string, chosen map[string]string) ([]string, error) {
	switch argument {
	case "workflow":
		return c.think.Library.Names(), nil
	case "version":
		return c.versions(ref, chosen["workflow"]), nil
	case "schema":
		set, err := c.think.Library.Schemas()
		if err != nil {
			return nil, err
		}
		return set.Names(), nil
	case "run_id":
		list, err := c.think.StateList(ctx, think.StateListInput{Workflow: chosen["workflow"], Limit: math.MaxInt})
		if err != nil {
			return nil, err
		}
		values := make([]string, len(list.Runs))
		for i, info := range list.Runs {
			values[i] = info.Run
		}
		return values, nil
	case "step_id":
		return c.stepIDs(ctx, chosen["workflow"], chosen["run_id"]), nil
	}
	return c.paramValues(ref, argument), nil
}

func (c catalog) versions(ref, workflow string) []string {
	if ref == driverPrompt || strings.HasPrefix(ref, promptPrefix) {
		versions, err := c.think.Library.DriverPromptVersions()
		if err != nil {
			return nil
		}
		return versions
	}
	return c.think.Library.Versions(cmp.Or(workflow, ref))
}

func (c catalog) stepIDs(ctx context.Context, workflow, run string) []string {
	var ids []string
	if run != "" {
		got, err := c.think.StateGet(ctx, think.StateGetInput{Workflow: workflow, RunID: run, Section: "steps", Limit: -1})
		if err != nil {
			return nil
		}
		for _, step := range got.Snapshot.Steps {
			ids = append(ids, step.ID)
		}
		return ids
	}
	graph, err := c.think.Library.Graph(workflow)
	if err != nil {
		return nil
	}
	for _, step := range graph.Workflow.Steps {
		ids = append(ids, step.ID)
	}
	return ids
}

// paramValues completes a workflow prompt's argument from its schema.
func (c catalog) paramValues(ref, argument string) []string {
	workflow, err := c.think.Library.Find(ref, "")
	if err != nil {
		return nil
	}
	at := slices.IndexFunc(workflow.Params, func(p flow.Param) bool { return p.Name == argument })
	if at < 0 {
		return nil
	}
	param := workflow.Params[at]
	schema, _ := param.Schema.(map[string]any)
	if schema["type"] == "boolean" {
		return []string{"false", "true"}
	}
	choices, _ := schema["enum"].([]any)
	if len(choices) == 0 && param.HasDefault {
		switch value := param.Default.(type) {
		case string:
			return []string{value}
		case int:
			return []string{strconv.Itoa(value)}
		}
	}
	var values []string
	for _, choice := range choices {
		text, isText := choice.(string)
		if !isText {
			text, _ = jsonText(choice)
		}
		values = append(values, text)
	}
	return values
}

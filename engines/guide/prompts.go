package guide

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
	"savant/think/library"
)

// driverPrompt is the name of the driver prompt among MCP prompts.
const driverPrompt = "driver"

func (c catalog) prompts(context.Context) ([]engines.Prompt, error) {
	list := []engines.Prompt{{Name: driverPrompt, Title: "How to follow a Savant workflow", Description: "The driver prompt",
		Arguments: []engines.PromptArgument{{Name: "version", Description: "default: the latest"}},
		Get: func(ctx context.Context, client engines.Caller, args map[string]string) (string, error) {
			return c.driver(ctx, client, args["version"])
		}}}
	for _, entry := range c.think.Library.List() {
		if entry.Err == nil && entry.Name != driverPrompt {
			list = append(list, c.workflowPrompt(entry))
		}
	}
	return list, nil
}

// driver returns the driver prompt of a version; the latest if version is empty.
func (c catalog) driver(ctx context.Context, client engines.Caller, version string) (string, error) {
	prompt, err := c.think.Library.DriverPrompt(ctx, library.DriverPromptInput{Version: version})
	if err != nil {
		return "", err
	}
	return client.Spelled(prompt.PromptMD), nil
}

func (c catalog) workflowPrompt(entry library.Entry) engines.Prompt {
	workflow := entry.Workflow
	prompt := engines.Prompt{Name: workflow.Name, Title: "Run the workflow " + workflow.Name + originMark(entry), Description: workflow.Description}
	for _, param := range workflow.Params {
		prompt.Arguments = append(prompt.Arguments, engines.PromptArgument{Name: param.Name, Description: param.Description, Required: param.Required})
	}
	prompt.Get = func(ctx context.Context, client engines.Caller, args map[string]string) (string, error) {
		params, err := convertArguments(workflow, args)
		if err != nil {
			return "", err
		}
		driver, err := c.driver(ctx, client, "")
		if err != nil {
			return "", err
		}
		call, err := jsonText(map[string]any{"workflow": workflow.Name, "params": params})
		return fmt.Sprintf("%s\n\nNow follow the workflow `%s`: call %s with\n\n```json\n%s\n```\n", strings.TrimSpace(driver), workflow.Name,
			client.Spelled("think.plan"), call), err
	}
	return prompt
}

// originMark is added to the title of a workflow that is not bundled.
func originMark(entry library.Entry) string {
	switch {
	case entry.Origin != library.Project:
		return packageMark(entry)
	case entry.Replaces:
		return " (of this project; it replaces the bundled one)"
	}
	return " (of this project)"
}

// packageMark says of which package a workflow is; "" for those of the project and the program.
func packageMark(entry library.Entry) string {
	if entry.Workflow == nil || !strings.Contains(entry.Origin, "/") {
		return ""
	}
	return " (of the package " + entry.Origin + ", version " + entry.Workflow.Version + ")"
}

// convertArguments converts prompt arguments, which are always text, by the parameters' schemas,
// and validates them: INVALID_PARAMS.
func convertArguments(workflow *flow.Workflow, args map[string]string) (map[string]any, error) {
	params := map[string]any{}
	for name, text := range args {
		params[name] = text
		at := slices.IndexFunc(workflow.Params, func(p flow.Param) bool { return p.Name == name })
		if at < 0 {
			continue
		}
		if schema, _ := workflow.Params[at].Schema.(map[string]any); schema["type"] == "string" {
			continue
		}
		if value, err := jsonvalue.Decode([]byte(strings.TrimSpace(text))); err == nil {
			params[name] = value
		}
	}
	if _, err := workflow.Bind(params); err != nil {
		return nil, err
	}
	return params, nil
}

func jsonText(value any) (string, error) {
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return "", fault.New(fault.Internal, "encoding: %w", err)
	}
	return string(data), nil
}

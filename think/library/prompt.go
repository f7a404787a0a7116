package library

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow"
)

// DriverPromptInput selects a version of the driver prompt.
type DriverPromptInput struct {
	Version string `json:"version,omitempty" doc:"default: latest"`
}

// DriverPrompt instructs a model how to follow a run.
type DriverPrompt struct {
	Version string `json:"version"`
	// Hash is the hex SHA-256 of PromptMD.
	Hash     string `json:"hash"`
	PromptMD string `json:"prompt_md"`
}

// DriverPrompt returns a driver prompt, the latest by default:
// PROMPT_NOT_FOUND with the known versions.
func (l *Library) DriverPrompt(_ context.Context, in DriverPromptInput) (*DriverPrompt, error) {
	latest, files, err := l.prompts()
	if err != nil {
		return nil, err
	}
	version := in.Version
	if version == "" || version == "latest" {
		version = latest
	}
	chosen, ok := files[version]
	if !ok {
		return nil, fault.New(fault.PromptNotFound, "no driver prompt of version %q; known: %s", fault.Cut(version, 60), strings.Join(slices.Sorted(maps.Keys(files)), ", "))
	}
	prompt, err := l.readPrompt(version, chosen.file)
	if err != nil || l.Rules == nil {
		return prompt, err
	}
	if notes := l.Rules.Notes(); notes != "" {
		prompt.PromptMD = strings.TrimRight(prompt.PromptMD, "\n") + "\n\n" + notes
		prompt.Hash = jsonvalue.SHA256(jsonvalue.HexSum([]byte(prompt.PromptMD)))
	}
	return prompt, nil
}

// Rules says what the rules of the project demand, for a driver prompt.
type Rules interface {
	// Notes returns a section in Markdown, "" without rules.
	Notes() string
}

// DriverPromptVersions returns the versions of the driver prompt, sorted:
// PROMPT_NOT_FOUND.
func (l *Library) DriverPromptVersions() ([]string, error) {
	_, files, err := l.prompts()
	return slices.Sorted(maps.Keys(files)), err
}

// PromptTexts returns what the prompts say, by what a person calls each: "driver 1.1",
// "persona engineer", "rule bug". PROMPT_NOT_FOUND for a version whose file is not there.
func (l *Library) PromptTexts() (map[string]string, error) {
	whole, err := l.Prompts()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, section := range []string{"driver", "agent"} {
		latest, versions, err := versionsOf(whole, section)
		if err != nil {
			return nil, err
		}
		texts["latest "+section] = latest
		for version, each := range versions {
			prompt, err := l.readPrompt(version, each.file)
			if err != nil {
				return nil, err
			}
			texts[section+" "+version] = prompt.Hash
		}
	}
	personas, _ := whole["personas"].([]any)
	rules, _ := whole["amr_rules"].([]any)
	texts["default persona"] = nameOf(first(personas))
	for kind, list := range map[string][]any{"persona": personas, "rule": rules} {
		for _, each := range list {
			text, err := jsonvalue.Encode(each)
			if err != nil {
				return nil, err
			}
			texts[kind+" "+nameOf(each)] = string(text)
		}
	}
	return texts, nil
}

// AgentPrompt returns the driver prompt of the agent, the latest version:
// PROMPT_NOT_FOUND. complex is its flag in prompts.yml.
func (l *Library) AgentPrompt() (prompt *DriverPrompt, complex bool, err error) {
	file, err := l.Prompts()
	if err != nil {
		return nil, false, err
	}
	latest, versions, err := versionsOf(file, "agent")
	if err != nil {
		return nil, false, err
	}
	prompt, err = l.readPrompt(latest, versions[latest].file)
	return prompt, versions[latest].complex, err
}

// readPrompt reads the file of a version.
func (l *Library) readPrompt(version, file string) (*DriverPrompt, error) {
	text, err := l.readAny(path.Join(promptFolder, file))
	if err != nil {
		return nil, fault.New(fault.PromptNotFound, "prompts/%s, the driver prompt %s, cannot be read", file, version)
	}
	return &DriverPrompt{Version: version, Hash: jsonvalue.SHA256(jsonvalue.HexSum(text)), PromptMD: string(text)}, nil
}

// promptVersion is one version of a driver prompt.
type promptVersion struct {
	file    string
	complex bool
}

// prompts returns the latest version of the driver prompt and the file of each,
// from prompts.yml.
func (l *Library) prompts() (latest string, versions map[string]promptVersion, err error) {
	file, err := l.Prompts()
	if err != nil {
		return "", nil, err
	}
	return versionsOf(file, "driver")
}

// versionsOf reads a section of prompts.yml that has versions.
func versionsOf(prompts map[string]any, section string) (latest string, versions map[string]promptVersion, err error) {
	of, _ := prompts[section].(map[string]any)
	latest, _ = of["latest"].(string)
	listed, _ := of["versions"].(map[string]any)
	whole, _ := of["complex"].(bool)
	versions = map[string]promptVersion{}
	for version, each := range listed {
		described, _ := each.(map[string]any)
		file, _ := described["file"].(string)
		if !fs.ValidPath(file) {
			return "", nil, fault.New(fault.PromptNotFound, "prompts.yml: %s.versions.%s.file must name a file of prompts/", section, version)
		}
		complex, _ := described["complex"].(bool)
		versions[version] = promptVersion{file: file, complex: complex || whole}
	}
	if _, ok := versions[latest]; !ok {
		return "", nil, fault.New(fault.PromptNotFound, "prompts.yml: %s.latest %q is not in %s.versions", section, latest, section)
	}
	return latest, versions, nil
}

// promptsFile is the file with the instructions for models.
const promptsFile = "prompts.yml"

// Prompts returns prompts.yml. What the file of a layer sets comes before the
// layers below: members one by one, entries of a list by their name.
func (l *Library) Prompts() (map[string]any, error) {
	merged := map[string]any{}
	found := false
	for _, layer := range l.layers {
		source, err := fs.ReadFile(layer.Files, promptsFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, unreadable(promptsFile, err)
		}
		value, err := flow.ReadYAML(promptsFile, source)
		if err != nil {
			return nil, err
		}
		if value != nil {
			top, isObject := value.(map[string]any)
			if !isObject {
				return nil, fault.New(fault.PromptNotFound, "%s: expected an object of driver, agent, personas and amr_rules", promptsFile)
			}
			merged = overlay(merged, top).(map[string]any)
		}
		found = true
	}
	if !found {
		return nil, fault.New(fault.PromptNotFound, "there is no prompts.yml")
	}
	return merged, nil
}

// overlay merges the value of an upper layer into that of a lower one. A null in the
// upper layer keeps the lower value.
func overlay(below, above any) any {
	if above == nil {
		return below
	}
	switch over := above.(type) {
	case map[string]any:
		under, isObject := below.(map[string]any)
		if !isObject {
			return above
		}
		merged := maps.Clone(under)
		for name, value := range over {
			merged[name] = overlay(under[name], value)
		}
		return merged
	case []any:
		under, isList := below.([]any)
		if !isList || nameOf(first(over)) == "" || nameOf(first(under)) == "" {
			return above
		}
		merged := slices.Clone(over)
		for _, each := range under {
			if !slices.ContainsFunc(over, func(other any) bool { return nameOf(other) == nameOf(each) }) {
				merged = append(merged, each)
			}
		}
		return merged
	}
	return above
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// nameOf is the name of an entry of a list; "" where it has none.
func nameOf(entry any) string {
	members, _ := entry.(map[string]any)
	name, _ := members["name"].(string)
	return name
}

package library

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"savant/fault"
	"savant/think/flow"
)

// DriverPromptInput selects a version of the driver prompt.
type DriverPromptInput struct {
	Version string `json:"version,omitempty" doc:"default: the latest"`
}

// DriverPrompt tells a model how to be guided.
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
	file, ok := files[version]
	if !ok {
		return nil, fault.New(fault.PromptNotFound, "no driver prompt of version %q; known: %s", fault.Cut(version, 60), strings.Join(sortedKeys(files), ", "))
	}
	text, err := l.readAny(path.Join(promptFolder, file))
	if err != nil {
		return nil, fault.New(fault.PromptNotFound, "prompts/%s, the driver prompt %s, cannot be read", file, version)
	}
	return &DriverPrompt{Version: version, Hash: hexSum(text), PromptMD: string(text)}, nil
}

// DriverPromptVersions returns the versions of the driver prompt, sorted:
// PROMPT_NOT_FOUND.
func (l *Library) DriverPromptVersions() ([]string, error) {
	_, files, err := l.prompts()
	return sortedKeys(files), err
}

// prompts returns the latest version of the driver prompt and the file of each,
// from prompts.yml.
func (l *Library) prompts() (latest string, files map[string]string, err error) {
	src, err := l.readAny("prompts.yml")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fault.New(fault.PromptNotFound, "there is no prompts.yml")
	}
	if err != nil {
		return "", nil, err
	}
	value, err := flow.ReadYAML("prompts.yml", src)
	if err != nil {
		return "", nil, err
	}
	top, _ := value.(map[string]any)
	driver, _ := top["driver"].(map[string]any)
	latest, _ = driver["latest"].(string)
	versions, _ := driver["versions"].(map[string]any)
	files = map[string]string{}
	for version, each := range versions {
		described, _ := each.(map[string]any)
		file, _ := described["file"].(string)
		if !fs.ValidPath(file) {
			return "", nil, fault.New(fault.PromptNotFound, "prompts.yml: driver.versions.%s.file must name a file of prompts/", version)
		}
		files[version] = file
	}
	if _, ok := files[latest]; !ok {
		return "", nil, fault.New(fault.PromptNotFound, "prompts.yml: driver.latest %q is none of driver.versions", latest)
	}
	return latest, files, nil
}

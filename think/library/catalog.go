package library

import (
	"context"
	"maps"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
	"savant/think/flow"
)

// CatalogInput filters workflows.
type CatalogInput struct {
	Filter string `json:"filter,omitempty" doc:"part of a name or description"`
}

// CatalogEntry is one workflow of a catalog.
type CatalogEntry struct {
	ID      string         `json:"id"`
	Version string         `json:"version,omitempty"`
	Desc    string         `json:"desc,omitempty"`
	Params  map[string]any `json:"params,omitempty"`
	// Origin says whose the workflow is: bundled or project.
	Origin string `json:"origin,omitempty"`
	// Replaces says that it takes the place of a workflow of another origin.
	Replaces bool `json:"replaces,omitempty"`
	// Held is a file of the same name that is not used, because nobody has accepted it.
	Held string `json:"held,omitempty"`
	// Error is why the file is invalid.
	Error string `json:"error,omitempty"`
}

// Catalog lists workflows by name.
type Catalog struct {
	Workflows []CatalogEntry `json:"workflows"`
	// Note says why some are missing.
	Note string `json:"note,omitempty"`
}

// Catalog returns the workflows with their parameters, invalid ones too.
func (l *Library) Catalog(_ context.Context, in CatalogInput) (*Catalog, error) {
	out := &Catalog{Workflows: []CatalogEntry{}}
	if err := l.Unlisted(); err != nil {
		out.Note = fault.Cut(fault.From(err).Message(), 300)
	}
	for _, each := range l.List() {
		entry := CatalogEntry{ID: visible.Line(each.Name), Origin: each.Origin, Replaces: each.Replaces, Held: each.Held}
		if each.Err != nil {
			entry.Error = fault.Cut(visible.Characters(fault.From(each.Err).Error()), 300)
		} else {
			entry.Version, entry.Desc, entry.Params = each.Workflow.Version, visible.Characters(each.Workflow.Description), describeParams(each.Workflow)
		}
		text := strings.ToLower(entry.ID + " " + entry.Desc)
		if strings.Contains(text, strings.ToLower(in.Filter)) {
			out.Workflows = append(out.Workflows, entry)
		}
	}
	return out, nil
}

func describeParams(workflow *flow.Workflow) map[string]any {
	params := map[string]any{}
	for _, param := range workflow.Params {
		described := map[string]any{}
		if schema, ok := param.Schema.(map[string]any); ok {
			maps.Copy(described, schema)
		}
		if param.Required {
			described["required"] = true
		}
		params[param.Name], _ = visible.Schema(described)
	}
	return params
}

// ReadInput names a workflow.
type ReadInput struct {
	Workflow string `json:"workflow" example:"hello"`
}

// WorkflowRead is a workflow as written and as understood.
type WorkflowRead struct {
	ID      string         `json:"id"`
	Version string         `json:"version"`
	Desc    string         `json:"desc,omitempty"`
	File    string         `json:"file"`
	Origin  string         `json:"origin,omitempty"`
	Digest  string         `json:"digest"`
	Params  map[string]any `json:"params"`
	// Asked is the schema of the parameters in the order in which they are written.
	Asked []byte `json:"-"`
	YAML  string `json:"yaml"`
	// WorkflowYAML is the same text, under the name of think.validate's argument.
	WorkflowYAML string `json:"workflow_yaml"`
	// Parsed is the file's content as JSON.
	Parsed  any          `json:"parsed"`
	Graph   flow.Picture `json:"graph"`
	Mermaid string       `json:"mermaid"`
}

// Read returns a workflow: UNKNOWN_WORKFLOW, or what is wrong with its file.
func (l *Library) Read(_ context.Context, in ReadInput) (*WorkflowRead, error) {
	graph, err := l.Graph(in.Workflow)
	if err != nil {
		return nil, err
	}
	w := graph.Workflow
	origin, _ := l.originOf(l.places(), w.Name)
	return &WorkflowRead{ID: w.Name, Version: w.Version, Desc: visible.Characters(w.Description), File: w.File, Origin: origin, Digest: jsonvalue.SHA256(w.Digest), Params: describeParams(w), Asked: w.ParamsSchema(w.Params),
		YAML: string(w.Source), WorkflowYAML: string(w.Source), Parsed: w.Parsed(), Graph: graph.Picture(), Mermaid: graph.Mermaid()}, nil
}

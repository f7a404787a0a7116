package schemas

import (
	"errors"
	"path"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// maxPlaced is how many diagnostics get a line and a column. Each reads the file, and
// later ones are not shown.
const maxPlaced = 20

// withFile adds to a diagnostic the file of a named schema, or its path in the workflow.
func (s *Set) withFile(name string, d fault.Diagnostic) fault.Diagnostic {
	held, known := s.sources[name]
	switch {
	case !known || name == "":
	case held.file == "":
		d.Path = "schemas." + name
	default:
		d.File = held.file
	}
	return d
}

// compileDiagnostics checks a schema and its references against their metaschemas,
// because the validator does not say which of them is invalid.
func (s *Set) compileDiagnostics(name string, documents map[string]any, err error) []fault.Diagnostic {
	var found []fault.Diagnostic
	for address, document := range documents {
		schema, _ := document.(map[string]any)
		draft, _ := schema["$schema"].(string)
		if draft == "" {
			draft = drafts[0]
		}
		meta, failed := newCompiler().Compile(draft)
		if failed != nil {
			continue
		}
		var invalid *jsonschema.ValidationError
		if errors.As(meta.Validate(document), &invalid) {
			for _, d := range (explainer{}).explain(invalid) {
				found = append(found, s.withFile(nameOf(address), d))
			}
		}
	}
	if found == nil {
		found = []fault.Diagnostic{s.withFile(name, fault.Diagnostic{Message: strings.TrimPrefix(err.Error(), "jsonschema: ")})}
	}
	return found
}

// withPositions sorts diagnostics and adds line and column to the first ones.
func (s *Set) withPositions(found []fault.Diagnostic) []fault.Diagnostic {
	found = sortUnique(found)
	for i := range found[:min(maxPlaced, len(found))] {
		d := &found[i]
		held, known := s.sources[strings.TrimSuffix(path.Base(d.File), ".json")]
		if !known || held.file != d.File {
			continue
		}
		if root, err := jsonvalue.Read(held.raw); err == nil {
			d.Line, d.Column = jsonvalue.Place(held.raw, root.Lookup(d.Pointer).Offset)
		}
	}
	return found
}

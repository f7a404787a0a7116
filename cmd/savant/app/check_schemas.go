package app

import (
	"path/filepath"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
	"savant/think/check"
)

// checkSchemas checks the schema files of SAVANT_PATH, including those that no workflow
// refers to.
func (a *App) checkSchemas() ([]CheckedFile, error) {
	set, err := a.Think.Library.Schemas()
	if err != nil {
		return nil, err
	}
	entries, _ := regular.ReadDir(a.Root, "schemas") // the set is made of these
	var files []CheckedFile
	for _, entry := range entries {
		name, isSchema := strings.CutSuffix(entry.Name(), ".json")
		if !isSchema || entry.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		schema, err := set.Lookup(name)
		file := filepath.Join(a.settings.Path, "schemas", entry.Name())
		text, _ := regular.ReadFile(a.Root, "schemas/"+entry.Name(), 1<<20) // the set has no larger one
		if err == nil {
			files = append(files, misnamedIn(file, text, schema.JSON()))
			continue
		}
		checked := a.checkedSchema(file, err)
		for i := range checked.Errors {
			if checked.Errors[i].File == file {
				checked.Errors[i] = checked.Errors[i].Quoting(fault.Lines(string(text)))
			}
		}
		files = append(files, checked)
	}
	return files, nil
}

// misnamedIn reports the unknown keywords of a schema file.
func misnamedIn(file string, text []byte, schema any) CheckedFile {
	checked := CheckedFile{File: file}
	root, err := jsonvalue.Read(text)
	for _, wrong := range check.Keywords(schema) {
		d := fault.Diagnostic{File: file, Pointer: wrong.Pointer, Code: fault.YAMLSchemaViolation, Message: wrong.Message}
		if err == nil {
			d.Line, d.Column = jsonvalue.Place(text, root.Lookup(wrong.Pointer).Offset)
			d = d.Quoting(fault.Lines(string(text)))
		}
		if wrong.Certain {
			checked.Errors = append(checked.Errors, d)
		} else {
			checked.Warnings = append(checked.Warnings, d)
		}
	}
	checked.Valid = len(checked.Errors) == 0
	return checked
}

func (a *App) checkedSchema(file string, err error) CheckedFile {
	checked := CheckedFile{File: file}
	problem := fault.From(err)
	checked.Errors = problem.Diagnostics
	if len(checked.Errors) == 0 {
		checked.Errors = []fault.Diagnostic{{Message: problem.Message()}}
	}
	for i := range checked.Errors {
		checked.Errors[i] = relocate(checked.Errors[i], a.settings.Path, file, problem.Code)
		if below := checked.Errors[i].File; strings.HasPrefix(below, "schemas/") {
			checked.Errors[i].File = filepath.Join(a.settings.Path, below)
		}
	}
	return checked
}

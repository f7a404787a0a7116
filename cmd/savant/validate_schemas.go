package main

import (
	"io/fs"
	"path/filepath"
	"strings"

	"savant/fault"
)

// checkSchemas checks the schema files of SAVANT_PATH, those too that no
// workflow refers to.
func (h *house) checkSchemas() ([]checkedFile, error) {
	set, err := h.think.Library.Schemas()
	if err != nil {
		return nil, err
	}
	entries, _ := fs.ReadDir(h.root.FS(), "schemas") // which the set was made of
	var files []checkedFile
	for _, entry := range entries {
		name, isSchema := strings.CutSuffix(entry.Name(), ".json")
		if !isSchema || entry.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		_, err := set.Named(name)
		files = append(files, h.checkedSchema(filepath.Join(h.given, "schemas", entry.Name()), err))
	}
	return files, nil
}

func (h *house) checkedSchema(file string, err error) checkedFile {
	checked := checkedFile{File: file, Valid: err == nil}
	if err == nil {
		return checked
	}
	problem := fault.From(err)
	checked.Errors = problem.Diagnostics
	if len(checked.Errors) == 0 {
		checked.Errors = []fault.Diagnostic{{Message: problem.Details}}
	}
	for i := range checked.Errors {
		checked.Errors[i] = placed(checked.Errors[i], h.given, file, problem.Code)
		if below := checked.Errors[i].File; strings.HasPrefix(below, "schemas/") {
			checked.Errors[i].File = filepath.Join(h.given, below)
		}
	}
	return checked
}

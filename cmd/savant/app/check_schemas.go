package app

import (
	"io/fs"
	"path/filepath"
	"strings"

	"savant/fault"
)

// checkSchemas checks the schema files of SAVANT_PATH, those too that no
// workflow refers to.
func (a *App) checkSchemas() ([]CheckedFile, error) {
	set, err := a.Think.Library.Schemas()
	if err != nil {
		return nil, err
	}
	entries, _ := fs.ReadDir(a.Root.FS(), "schemas") // which the set was made of
	var files []CheckedFile
	for _, entry := range entries {
		name, isSchema := strings.CutSuffix(entry.Name(), ".json")
		if !isSchema || entry.IsDir() || strings.HasPrefix(name, ".") {
			continue
		}
		_, err := set.Named(name)
		files = append(files, a.checkedSchema(filepath.Join(a.settings.Path, "schemas", entry.Name()), err))
	}
	return files, nil
}

func (a *App) checkedSchema(file string, err error) CheckedFile {
	checked := CheckedFile{File: file, Valid: err == nil}
	if err == nil {
		return checked
	}
	problem := fault.From(err)
	checked.Errors = problem.Diagnostics
	if len(checked.Errors) == 0 {
		checked.Errors = []fault.Diagnostic{{Message: problem.Message()}}
	}
	for i := range checked.Errors {
		checked.Errors[i] = placed(checked.Errors[i], a.settings.Path, file, problem.Code)
		if below := checked.Errors[i].File; strings.HasPrefix(below, "schemas/") {
			checked.Errors[i].File = filepath.Join(a.settings.Path, below)
		}
	}
	return checked
}

package main

import (
	"bytes"
	"embed"
	"text/template"
)

//go:embed templates
var templates embed.FS

// fill is a template of the folder templates/ with its values.
func fill(name string, values any) ([]byte, error) {
	parsed, err := template.New(name).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = parsed.Execute(&text, values)
	return text.Bytes(), err
}

// filled are files made from templates: the name of the file, then its template.
func filled(values any, pairs ...[2]string) ([]file, error) {
	var list []file
	for _, pair := range pairs {
		data, err := fill(pair[1], values)
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: pair[0], data: data})
	}
	return list, nil
}

// values are what the templates of a target may use.
type values struct{ Version, Owner, Program, Platform string }

func (r release) values(t target) values {
	return values{Version: r.Version, Owner: r.Owner, Program: t.program(), Platform: t.node()}
}

package lsp

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"savant/fault"
	"savant/rules"
	"savant/rules/sessions"
	"savant/think"
	"savant/think/cases"
	"savant/think/flow"
	"savant/think/library"
)

// finding is something that is wrong with a document, and the bytes of its line that it is
// about. Lines count from 0.
type finding struct {
	fault.Diagnostic
	line, begin, end int
}

// judge judges the open documents whenever one changed. A document that changed meanwhile
// is judged again.
func (s *server) judge(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		}
		for _, each := range s.open.all() {
			if len(s.changed) > 0 || ctx.Err() != nil {
				break // with the newer text
			}
			found, graph := s.look(ctx, each)
			if !s.open.judged(each, found, graph) {
				continue
			}
			if err := s.rpc.Notify(ctx, "textDocument/publishDiagnostics", s.published(each, found)); err != nil {
				s.logger.Debug("diagnostics were not sent", "error", err)
			}
		}
	}
}

func (s *server) published(t text, found []finding) published {
	out := published{URI: t.uri, Version: &t.version, Diagnostics: []diagnostic{}}
	for _, each := range found {
		out.Diagnostics = append(out.Diagnostics, s.diagnostic(t, each))
	}
	return out
}

func (s *server) diagnostic(t text, f finding) diagnostic {
	severity := severityError
	switch f.Severity {
	case "warning":
		severity = severityWarning
	case "note":
		severity = severityInformation
	}
	message := f.Message
	if f.Expected != "" && !strings.Contains(message, f.Expected) {
		message += ": expected " + f.Expected
	}
	return diagnostic{Range: s.encoding.ranged(f.line, t.lines.line(f.line), f.begin, f.end), Severity: severity, Code: string(f.Code), Source: "savant", Message: message}
}

// look finds what is wrong with a document. The graph is that of the document if it is a
// workflow, and of the workflow that it tests if it has cases; nil where that has errors.
func (s *server) look(ctx context.Context, t text) ([]finding, *flow.Graph) {
	var graph *flow.Graph
	var all []fault.Diagnostic
	switch t.kind {
	case ofWorkflow:
		all = s.validated(ctx, t)
		var err error
		if graph, err = s.engine.Library.Graph(workflowOf(t.name)); err != nil && t.graph == nil {
			graph = s.salvaged(t, err)
		}
	case ofCases:
		graph, _ = s.engine.Library.Graph(library.CasesOf(t.name)) // else they are found in it
		t.graph = graph
		all = s.judged(ctx, t)
	default:
		all = s.judged(ctx, t)
	}
	found := []finding{}
	for _, each := range all {
		if each.File == t.name || each.File == "" {
			found = append(found, t.findingOf(each))
		}
	}
	return found, graph
}

// judged judges the content of a document that may differ from its file's, cases by the
// graph that it has.
func (s *server) judged(ctx context.Context, t text) []fault.Diagnostic {
	switch t.kind {
	case ofWorkflow:
		out, err := s.engine.Validate(ctx, think.ValidateInput{WorkflowYAML: t.content})
		if err != nil {
			return fault.DiagnosticsOf(t.name, err)
		}
		return out.Diagnostics()
	case ofCases:
		return cases.Diagnostics(t.name, []byte(t.content), t.graph)
	case elsewhere:
		return []fault.Diagnostic{{Line: 1, Severity: "note", Message: "this file is not checked: it is not below " + s.project.Folder() + ", the folder that savant lsp was started in or that SAVANT_PATH names"}}
	case ofRules:
		return s.ruled(t)
	case ofRuleCases:
		_, err := rules.ParseCases(t.name, []byte(t.content))
		return fault.DiagnosticsOf(t.name, err)
	}
	return nil
}

// ruled judges rules together with those of the other files, as rules check does. A file
// that cannot be read is left out.
func (s *server) ruled(t text) []fault.Diagnostic {
	own, err := rules.Parse(t.name, []byte(t.content))
	if err != nil {
		return fault.DiagnosticsOf(t.name, err)
	}
	together := []*rules.File{own}
	names, _ := sessions.Files(s.files, false) // savant rules check reports a folder that cannot be read
	for _, name := range names {
		source, err := sessions.Read(s.files, name)
		if err != nil || name == t.name {
			continue
		}
		if file, err := rules.Parse(name, source); err == nil {
			together = append(together, file)
		}
	}
	return rules.Check(rules.New(together...), s.project)
}

// maxSalvage is how often a text is tried without the lines that are wrong.
const maxSalvage = 4

// salvaged compiles a text without the lines that have errors, so that the types of the
// others are known; nil where that does not help.
func (s *server) salvaged(t text, err error) *flow.Graph {
	rest := slices.Clone(t.lines)
	for range maxSalvage {
		for _, each := range fault.From(err).Diagnostics {
			if each.Line > 0 && each.Line <= len(rest) && (each.File == t.name || each.File == "") {
				rest[each.Line-1] = ""
			}
		}
		var workflow *flow.Workflow
		if workflow, err = s.engine.Library.Parse("", []byte(strings.Join(rest, "\n"))); err == nil {
			var graph *flow.Graph
			if graph, err = s.engine.Library.Compile(workflow); err == nil {
				return graph
			}
		}
	}
	return nil
}

// workflowOf returns how a workflow's file is named in its library: with its folder.
func workflowOf(file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(file, "workflows/"), path.Ext(file))
}

// validated judges a workflow as its file, so that others find it; or as a text, where
// only the editor has it.
func (s *server) validated(ctx context.Context, t text) []fault.Diagnostic {
	out, err := s.engine.Validate(ctx, think.ValidateInput{Workflow: workflowOf(t.name)})
	if err != nil {
		out, err = s.engine.Validate(ctx, think.ValidateInput{WorkflowYAML: t.content})
	}
	if err != nil {
		return fault.DiagnosticsOf(t.name, err)
	}
	all := out.Diagnostics()
	for i := range all {
		if all[i].Severity == "" {
			all[i].Code = cmp.Or(all[i].Code, out.Code)
		}
	}
	return all
}

// findingOf places a diagnostic: at the word that its column is in, else to the end of the line.
func (t text) findingOf(d fault.Diagnostic) finding {
	f := finding{Diagnostic: d, line: min(max(d.Line-1, 0), len(t.lines)-1)}
	line := t.lines[f.line]
	f.begin = byteOf(line, d.Column)
	if _, f.end = wordAt(line, f.begin); f.end == f.begin {
		f.end = max(f.begin, len(strings.TrimRight(line, " \t")))
	}
	return f
}

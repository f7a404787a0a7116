package hub

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/access"
	"savant/think"
	"savant/think/form"
	"savant/think/library"
)

type workflowsView struct {
	Query     string
	Note      string
	Workflows []library.CatalogEntry
}

func (h *Hub) listWorkflows(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	list, err := h.options.Think.Library.Catalog(r.Context(), library.CatalogInput{Filter: query})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	h.show(w, r, http.StatusOK, "workflows.html", page{Title: "Workflows", At: "workflows", Live: noRun,
		View: workflowsView{Query: query, Note: list.Note, Workflows: list.Workflows}})
}

type workflowView struct {
	Name, Version, Desc, Origin, File, Digest string
	Problem                                   string // why it is invalid
	Params                                    []parameter
	Start                                     startView
	Lines                                     []codeLine
	Loose                                     []fault.Diagnostic // those without a shown line
	Errors, Warnings, Notes                   int
	Runs                                      []runRow
	Total                                     int
	Drawing                                   *drawing // nil for an invalid workflow
}

// parameter is one parameter of a workflow; Rest is the rest of its schema, as JSON.
type parameter struct {
	Name, Type, Default, About, Rest string
	Required                         bool
}

// codeLine is a line of the YAML with its diagnostics.
type codeLine struct {
	Number int
	Text   source
	Found  []fault.Diagnostic
}

func (h *Hub) showWorkflow(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	read, err := h.options.Think.Library.Read(r.Context(), library.ReadInput{Workflow: name})
	if err != nil && fault.From(err).Code == fault.UnknownWorkflow {
		h.fail(w, r, err)
		return
	}
	view := workflowView{Name: name}
	if err != nil {
		view.Problem = fault.From(err).Message()
	} else {
		view.Version, view.Desc, view.Origin, view.File, view.Digest = read.Version, read.Desc, read.Origin, read.File, read.Digest
		view.Params = parametersOf(read.Params)
		view.Start = h.startOf(read).startView
		if err := h.allowed(r, access.Run); err != nil && view.Start.Shown {
			view.Start = startView{Lacks: fault.From(err).Details + ", so it cannot start one"}
		}
		if refused, is := refusalOf(r).form.(startView); is {
			view.Start = refused
		}
		for i, text := range strings.Split(strings.TrimSuffix(read.YAML, "\n"), "\n") {
			view.Lines = append(view.Lines, codeLine{Number: i + 1, Text: source(text)})
		}
	}
	if graph, err := h.options.Think.Library.Graph(name); err == nil {
		scene := sceneOfWorkflow(graph, r.URL.Query()["open"])
		if view.Drawing, err = h.artist(r, scene, "").drawing(scene); err != nil {
			h.fail(w, r, err)
			return
		}
	}
	checked, err := h.options.Think.Validate(r.Context(), think.ValidateInput{Workflow: name})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view.Errors, view.Warnings, view.Notes = len(checked.Errors), len(checked.Warnings), len(checked.Notes)
	view.place("error", checked.Errors)
	view.place("warning", checked.Warnings)
	view.place("note", checked.Notes)
	list, err := h.options.Think.StateList(r.Context(), think.StateListInput{Workflow: name, Limit: latest})
	if err == nil { // an invalid name has no runs
		view.Total = list.Total
		for _, each := range list.Runs {
			view.Runs = append(view.Runs, h.runRow(r.Context(), each))
		}
	}
	h.show(w, r, refusalOf(r).status(), "workflow.html", page{Title: name, At: "workflows", Live: anyRun, View: view})
}

// place puts diagnostics at their lines.
func (v *workflowView) place(severity string, found []fault.Diagnostic) {
	for _, each := range found {
		each.Severity = severity
		if at := each.Line - 1; at >= 0 && at < len(v.Lines) && (each.File == "" || each.File == v.File) {
			v.Lines[at].Found = append(v.Lines[at].Found, each)
			continue
		}
		v.Loose = append(v.Loose, each)
	}
}

func parametersOf(params map[string]any) []parameter {
	var out []parameter
	for _, name := range slices.Sorted(maps.Keys(params)) {
		described, _ := params[name].(map[string]any)
		made := parameter{Name: name, Required: described["required"] == true}
		made.Type, _ = described["type"].(string)
		made.About, _ = described["description"].(string)
		if standard, has := described["default"]; has {
			made.Default = form.Shown(standard)
		}
		rest := maps.Clone(described)
		for _, each := range []string{"type", "description", "default", "required"} {
			if value := rest[each]; each != "type" || made.Type != "" || value == nil {
				delete(rest, each)
			}
		}
		if len(rest) > 0 {
			made.Rest = compact(rest)
		}
		out = append(out, made)
	}
	return out
}

package hub

import (
	"cmp"
	"context"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/access"
	"savant/internal/jsonvalue"
	"savant/packages"
	"savant/rules"
	"savant/think"
	"savant/think/cases"
	"savant/think/form"
	"savant/think/library"
)

// Sources has what is known of workflows beside their files: their cases, the packages they
// come from, and the rules about their calls.
type Sources interface {
	// Cases runs the cases of a workflow. One without cases has none: no error.
	Cases(ctx context.Context, workflow string) (Cases, error)
	// Packages returns the packages of the project: YAML_SCHEMA_VIOLATION.
	Packages() ([]packages.Package, error)
	// Rules returns the rules of the folder and of its workflows: YAML_SCHEMA_VIOLATION.
	Rules() (*rules.Set, error)
}

// Cases is what the cases of a workflow came to. Problems are those of their files.
type Cases struct {
	Passed   int
	Failed   []fault.Diagnostic
	Problems []fault.Diagnostic
	cases.Coverage
}

type workflowsView struct {
	Query     string
	Note      string
	Workflows []library.CatalogEntry
	Pager     pager
	Packages  []packageView
	Problem   string // why the packages cannot be read
}

// packageView is a package of the project.
type packageView struct {
	Name, Tag, Source, Commit, Signed string
	Files                             int
}

// packagesOf lists the packages; those of an origin alone, if that is not empty.
func (h *Hub) packagesOf(origin string) (out []packageView, problem string) {
	all, err := h.options.Sources.Packages()
	if err != nil {
		return nil, fault.From(err).Message()
	}
	for _, each := range all {
		view := packageView{Name: each.Name, Source: each.Source, Commit: each.Commit, Signed: each.Signed, Files: len(each.Files)}
		if source, err := packages.ParseSource(each.Source); err == nil {
			view.Tag = source.Tag
		}
		if origin == "" || plain(origin) == each.Name {
			out = append(out, view)
		}
	}
	return out, ""
}

func (h *Hub) listWorkflows(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query().Get("q")
	list, err := h.options.Think.Library.Catalog(r.Context(), library.CatalogInput{Filter: query})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	view := workflowsView{Query: query, Note: list.Note}
	view.Workflows, view.Pager = pageOfList(r, "page", list.Workflows)
	view.Packages, view.Problem = h.packagesOf("")
	h.show(w, r, http.StatusOK, "workflows.html", page{Title: "Workflows", At: "workflows", Live: noRun, View: view})
}

type workflowView struct {
	Name, Version, Desc, Origin, File, Digest string
	Problem                                   string // why it is invalid
	Params                                    []parameter
	Start                                     startView
	Lines                                     []codeLine // a page of them
	LinesPager                                pager
	Here                                      url.Values         // the address of this page
	Loose                                     []fault.Diagnostic // those without a shown line
	Errors, Warnings, Notes                   int
	More                                      bool // there are diagnostics that are not shown
	shown                                     int
	Runs                                      []runRow
	Total                                     int
	Drawing                                   *drawing // nil for an invalid workflow
	Package                                   *packageView
	Tested                                    *testedView // nil without cases
}

// testedView is what the cases of a workflow came to.
type testedView struct {
	Cases
	Shown   []cases.Uncovered // the first that are missing
	Reached int
	Why     string // why they cannot be run
}

// tested runs the cases of a workflow.
func (h *Hub) tested(ctx context.Context, name string) *testedView {
	found, err := h.options.Sources.Cases(ctx, plain(name))
	if err != nil {
		return &testedView{Why: fault.From(err).Message()}
	}
	if found.Passed+len(found.Failed)+len(found.Problems) == 0 {
		return nil
	}
	first := func(all []fault.Diagnostic) []fault.Diagnostic { return all[:min(len(all), findingsShown)] }
	out := &testedView{Cases: found, Shown: found.Missing[:min(len(found.Missing), findingsShown)], Reached: found.Points - len(found.Missing)}
	out.Problems, out.Failed = first(found.Problems), first(found.Failed)
	return out
}

// covers returns how many points of each step the cases do not reach.
func (v *testedView) covers() map[string]int {
	if v == nil || v.Points == 0 {
		return nil
	}
	missing := map[string]int{}
	for _, each := range v.Missing {
		missing[each.Step]++
	}
	return missing
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
	view := workflowView{Name: name, Here: r.URL.Query()}
	if err != nil {
		view.Problem = fault.From(err).Message()
	} else {
		view.Version, view.Desc, view.Origin, view.File, view.Digest = read.Version, read.Desc, read.Origin, read.File, read.Digest
		view.Params = parametersOf(read.Params)
		if from, _ := h.packagesOf(cmp.Or(read.Origin, "-")); len(from) > 0 {
			view.Package = &from[0]
		}
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
		view.Tested = h.tested(r.Context(), name)
		scene := sceneOfWorkflow(graph, "", openedIn(r))
		a := h.artist(r, scene, "")
		a.uncovered = view.Tested.covers()
		view.Drawing = a.drawing(scene)
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
	from, to, pager := paged(r, "lines", len(view.Lines), linesPage, 0)
	view.Lines, view.LinesPager = view.Lines[from:to], pager
	list, err := h.options.Think.StateList(r.Context(), think.StateListInput{Workflow: name, Limit: latest})
	if err == nil { // an invalid name has no runs
		view.Total = list.Total
		for _, each := range list.Runs {
			view.Runs = append(view.Runs, h.runRow(r.Context(), each))
		}
	}
	h.show(w, r, refusalOf(r).status(), "workflow.html", page{Title: name, At: "workflows", Live: anyRun, View: view})
}

// findingsShown is how many diagnostics the page of a workflow shows.
const findingsShown = 100

// linesPage is how many lines of a file a page shows.
const linesPage = 400

// lineHref is the address of a line of the file, from a page of its workflow.
func lineHref(query url.Values, line int) template.URL {
	anchor := "#L" + strconv.Itoa(line)
	if line <= linesPage && !query.Has("lines") {
		return template.URL(anchor)
	}
	return queryWith(query, "lines", strconv.Itoa((line-1)/linesPage)) + template.URL(anchor)
}

// place puts the first diagnostics at their lines.
func (v *workflowView) place(severity string, found []fault.Diagnostic) {
	room := max(0, findingsShown-v.shown)
	v.More = v.More || len(found) > room
	found = found[:min(len(found), room)]
	v.shown += len(found)
	for _, each := range found {
		each.Severity = severity
		if at := each.Line - 1; at >= 0 && at < len(v.Lines) && (each.File == "" || each.File == v.File) {
			each.File = "" // it stands there
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
			made.Rest = string(jsonvalue.Encoded(rest))
		}
		out = append(out, made)
	}
	return out
}

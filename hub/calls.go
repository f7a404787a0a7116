package hub

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"savant/engines"
	"savant/fault"
	"savant/internal/access"
	"savant/internal/jsonvalue"
	"savant/rules"
	rulesessions "savant/rules/sessions"
	"savant/think/form"
	"savant/think/state"
)

// Calls has what rules decided about calls, and what they ask a person.
type Calls interface {
	// Questions returns the questions that wait, the oldest first.
	Questions() ([]rulesessions.Question, error)
	// Answer records an answer: INVALID_TRANSITION where the question does not wait.
	Answer(ctx context.Context, name string, agreed bool, by string) (rulesessions.Question, error)
	// Sessions returns the sessions, and what was refused in them, the last first.
	Sessions() ([]rulesessions.Session, []rulesessions.Refusal, error)
}

// maxRefused bounds the refusals on the overview.
const maxRefused = 10

// callsView is the section about calls and rules.
type callsView struct {
	Asked   []askedCall
	More    int // that ask, and are not shown
	Refused []refusedCall
	// NoAnswers says why no answer is taken here.
	NoAnswers string
	// Problem is why the journals cannot be read.
	Problem string
}

// askedCall is a call that a person has to approve.
type askedCall struct {
	Name, Session, Tool, Grant string
	about
	// Hidden: a secret was redacted, so it can only be declined here.
	Hidden bool
}

// refusedCall is a call that rules refused, or warned of.
type refusedCall struct {
	When, Session, Tool, Rules, Parts string
	Made                              bool
	Href                              string // of the run whose call it is
}

// calls returns the section, redacted.
func (h *Hub) calls(r *http.Request) callsView {
	view := callsView{}
	questions, err := h.options.Calls.Questions()
	var refusals []rulesessions.Refusal
	if err == nil {
		_, refusals, err = h.options.Calls.Sessions()
	}
	if err != nil {
		return callsView{Problem: h.options.Redactor.Text(fault.From(err).Message())}
	}
	if h.options.NoAnswers {
		view.NoAnswers = "This hub takes no answers (--no-answers)."
	} else if err := h.allowed(r, approveScope); err != nil {
		view.NoAnswers = fault.From(err).Details + "."
	}
	for _, each := range questions[:min(len(questions), questionsShown)] {
		view.Asked = append(view.Asked, h.askedCall(each))
	}
	view.More = len(questions) - len(view.Asked)
	view.Refused = h.refusedCalls(refusals[:min(len(refusals), maxRefused)])
	return view
}

// refusedCalls describes refusals, redacted.
func (h *Hub) refusedCalls(refusals []rulesessions.Refusal) (out []refusedCall) {
	for _, each := range refusals {
		row := refusedCall{When: time.UnixMilli(each.Time).UTC().Format(time.RFC3339), Session: each.Session, Tool: each.Tool, Made: each.Made}
		if key, is := sessionRun(each.Session); is {
			row.Href = runPath(key)
		}
		var names, parts []string
		for _, rule := range each.Rules {
			names = append(names, fmt.Sprintf("%s (%s:%d)", rule.Rule, rule.File, rule.Line))
			if rule.Message != "" {
				parts = append(parts, rule.Message)
			}
			for _, part := range rule.Parts {
				parts = append(parts, part.Name+" "+strings.ReplaceAll(string(part.State), "_", " ")+": "+part.Text)
			}
		}
		row.Rules, row.Parts = strings.Join(names, ", "), h.options.Redactor.Text(shownWhole(strings.Join(parts, "\n")))
		out = append(out, row)
	}
	return out
}

// sessionRun returns the run whose calls a session has, if it has those of one.
func sessionRun(session string) (state.Key, bool) {
	parts := strings.Split(session, " ")
	if len(parts) != 3 || parts[0] != "run" {
		return state.Key{}, false
	}
	return state.Key{Workflow: parts[1], Run: parts[2]}, true
}

// refusedIn returns what rules refused in a run, the last first.
func (h *Hub) refusedIn(key state.Key) []refusedCall {
	_, refused, err := h.options.Calls.Sessions()
	if err != nil {
		return nil // the overview says why
	}
	return h.refusedCalls(slices.DeleteFunc(refused, func(each rulesessions.Refusal) bool { return !each.In(key.Workflow, key.Run) }))
}

// rulesView lists the rules, and all that they refused.
type rulesView struct {
	Rules      []ruleRow
	RulesPager pager
	Problem    string // why they cannot be read
	Refused    []refusedCall
	Pager      pager
}

// ruleRow is a rule with how often it refused a call.
type ruleRow struct {
	rules.Row
	Refused int
}

// showRules shows the rules of the folder, and what each refused and why.
func (h *Hub) showRules(w http.ResponseWriter, r *http.Request) {
	_, refused, err := h.options.Calls.Sessions()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	counts := map[string]int{}
	for _, each := range refused {
		for _, rule := range each.Rules {
			counts[rule.File+" "+rule.Rule]++
		}
	}
	view := rulesView{}
	set, err := h.options.Sources.Rules()
	if err != nil {
		view.Problem = fault.From(err).Message()
	} else {
		var all []*rules.Rule
		all, view.RulesPager = pageOfList(r, "rules", set.All())
		for _, rule := range all {
			row := ruleRow{Row: rule.Row()}
			row.Refused = counts[row.File+" "+row.ID]
			view.Rules = append(view.Rules, row)
		}
	}
	from, to, pager := paged(r, "page", len(refused), recordsPage, 0)
	view.Refused, view.Pager = h.refusedCalls(refused[from:to]), pager
	h.show(w, r, http.StatusOK, "rules.html", page{Title: "Rules", At: "rules", Live: noRun, View: view})
}

func (h *Hub) askedCall(asked rulesessions.Question) askedCall {
	text, input := shownWhole(strings.Join(asked.Texts, "\n")), shownWhole(indentedWhole(asked.Input))
	of := askedCall{Name: asked.Name, Session: asked.Session, Tool: asked.Tool, about: about{All: "/calls/" + url.PathEscape(asked.Name), Parts: []questionPart{{"", h.options.Redactor.Text(text)}, {"input", h.options.Redactor.Text(input)}}},
		Grant: fmt.Sprintf("%d × within %s", asked.Grant.Most, time.Duration(asked.Grant.Within)*time.Millisecond)}
	of.Hidden = of.Parts[0].Text != text || of.Parts[1].Text != input
	return of
}

// sendCall sends all that a question about a call is about, as text.
func (h *Hub) sendCall(w http.ResponseWriter, r *http.Request) {
	questions, err := h.options.Calls.Questions()
	at := slices.IndexFunc(questions, func(each rulesessions.Question) bool { return each.Name == r.PathValue("question") })
	var parts []questionPart
	if at >= 0 {
		parts = h.askedCall(questions[at]).Parts
	} else if err == nil {
		err = fault.New(fault.CheckpointNotFound, "this question no longer waits for an answer")
	}
	h.sendQuestion(w, r, parts, err)
}

// answerCall records a person's answer to a question about a call. Its name is a digest
// of all that the page shows of it.
func (h *Hub) answerCall(w http.ResponseWriter, r *http.Request) {
	name, decision := r.PathValue("question"), r.PostFormValue("decision")
	questions, err := h.options.Calls.Questions()
	at := slices.IndexFunc(questions, func(each rulesessions.Question) bool { return each.Name == name })
	switch {
	case err != nil:
	case h.options.NoAnswers:
		err = fault.New(fault.ToolDenied, "this hub takes no answers (--no-answers): use savant approve %s at a terminal", name)
	case at < 0:
		err = fault.New(fault.StateConflict, "this question no longer waits for an answer")
	case decision != "approve" && decision != "decline":
		err = fault.New(fault.InvalidParams, "approve or decline")
	case decision == "approve" && h.askedCall(questions[at]).Hidden:
		err = fault.New(fault.ToolDenied, "not all of it is shown here, so it cannot be approved here: use savant approve %s", name)
	default:
		_, err = h.options.Calls.Answer(r.Context(), name, decision == "approve", "hub")
	}
	if err != nil {
		h.again(w, r, err, nil, h.overview)
		return
	}
	h.options.Logger.InfoContext(r.Context(), "a person answered about a call in the hub", "question", name)
	h.done(w, r, "/", "answered")
}

// toolsView lists the tools that can be called by hand.
type toolsView struct {
	Query string
	Tools []toolView
	Pager pager
}

// toolView is a tool, with the form of a call and what it returned.
type toolView struct {
	Name, Title, Description string
	ReadOnly, Destructive    bool
	Note                     string // what rules demand of it
	Fields                   []field
	Lacks                    string // why it cannot be called here
	Problem                  string
	Returned                 bool
	Result, Receipt, Warning string
	Took                     time.Duration
}

// maxShownResult bounds the result of a call on a page, in bytes.
const maxShownResult = 256 << 10

func (h *Hub) toolView(r *http.Request, tool engines.Tool) toolView {
	view := toolView{Name: tool.Name, Title: tool.Title, Description: tool.Description, ReadOnly: tool.ReadOnly, Destructive: tool.Destructive, Note: h.options.Tools.ToolNotes()(tool.Name)}
	if err := h.mayCall(r, tool); err != nil {
		view.Lacks = fault.From(err).Details + ", so it cannot call this tool"
	}
	return view
}

// mayCall returns why a visitor may not call a tool. What may change something needs who
// may approve.
func (h *Hub) mayCall(r *http.Request, tool engines.Tool) error {
	if tool.ReadOnly {
		return h.allowed(r, access.Read)
	}
	return cmp.Or(h.allowed(r, access.Run), h.allowed(r, approveScope))
}

func (h *Hub) listTools(w http.ResponseWriter, r *http.Request) {
	view := toolsView{Query: r.URL.Query().Get("q")}
	var shown []engines.Tool
	shown, view.Pager = pageOfList(r, "page", slices.DeleteFunc(h.options.Tools.Tools(), func(each engines.Tool) bool {
		return !contains(view.Query, each.Name, each.Title, each.Description)
	}))
	for _, each := range shown {
		view.Tools = append(view.Tools, h.toolView(r, each))
	}
	h.show(w, r, http.StatusOK, "tools.html", page{Title: "Tools", At: "tools", Live: noRun, View: view})
}

func (h *Hub) showTool(w http.ResponseWriter, r *http.Request) {
	tool, known := h.options.Tools.Resolve(r.PathValue("tool"))
	if !known {
		h.problem(w, r, http.StatusNotFound, fault.New(fault.UnknownTool, "no tool is named %q", fault.Cut(r.PathValue("tool"), 100)))
		return
	}
	view := h.toolView(r, tool)
	view.Fields = argumentsOf(tool).fields
	if called, is := refusalOf(r).form.(toolView); is {
		view = called
	}
	status, live := refusalOf(r).status(), noRun
	if view.Returned {
		status = http.StatusOK
	}
	if r.Method == http.MethodPost {
		live = "" // it shows what one call brought
	}
	h.show(w, r, status, "tool.html", page{Title: tool.Name, At: "tools", Live: live, View: view})
}

// argumentsOf returns the form of a tool's arguments. One that names none may be called without.
func argumentsOf(tool engines.Tool) inputs {
	in := inputsOf(form.New(tool.InputSchema()))
	for i, each := range in.form.Fields() {
		if each.Pointer == "" {
			in.fields[i].Name, in.fields[i].Required = "arguments", false
		}
	}
	return in
}

// callTool calls a tool with the values of its form, through the registry: its rules,
// receipts and limits hold.
func (h *Hub) callTool(w http.ResponseWriter, r *http.Request) {
	tool, known := h.options.Tools.Resolve(r.PathValue("tool"))
	if !known {
		h.showTool(w, r)
		return
	}
	view, in := h.toolView(r, tool), argumentsOf(tool)
	err := h.mayCall(r, tool)
	filled, ok := in.read(r.PostForm)
	view.Fields = in.fields
	if err != nil || !ok {
		h.again(w, r, err, view, h.showTool)
		return
	}
	args, given := in.form.Answer(filled)
	if !given {
		args = map[string]any{}
	}
	raw, err := jsonvalue.Encode(args)
	began := time.Now()
	var result engines.Result
	if err == nil {
		who := visitorFrom(r).person()
		result, err = h.options.Tools.Invoke(r.Context(), engines.Call{Caller: engines.Caller{Identity: engines.Identity{ID: who.Client + " " + who.Name, Name: who.Name}}}, tool.Name, raw)
	}
	view.Receipt, view.Took = result.Receipt, time.Since(began)
	if err != nil {
		in.place(fault.From(err), func(found fault.Diagnostic) string { return "/" + found.Path }, &view.Problem)
		h.again(w, r, nil, view, h.showTool)
		return
	}
	view.Returned, view.Warning = true, result.Warning
	view.Result = fault.Cut(h.textOf(result.JSON), maxShownResult)
	if result.Artifact != "" {
		view.Warning = strings.TrimSpace(view.Warning + " The whole result is " + result.Artifact + ".")
	}
	h.again(w, r, nil, view, h.showTool)
}

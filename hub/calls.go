package hub

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"savant/fault"
	rulesessions "savant/rules/sessions"
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
	Refused []refusedCall
	// NoAnswers says why no answer is taken here.
	NoAnswers string
	// Problem is why the journals cannot be read.
	Problem string
}

// askedCall is a call that a person has to approve.
type askedCall struct {
	Name, Session, Tool string
	Text, Input, Grant  string
	// Hidden: a secret was redacted, so it can only be declined here.
	Hidden bool
}

// refusedCall is a call that rules refused, or warned of.
type refusedCall struct {
	When, Session, Tool, Rules, Parts string
	Made                              bool
}

// calls returns the section, redacted.
func (h *Hub) calls(r *http.Request) callsView {
	view := callsView{}
	waiting, err := h.options.Calls.Questions()
	var refused []rulesessions.Refusal
	if err == nil {
		_, refused, err = h.options.Calls.Sessions()
	}
	if err != nil {
		return callsView{Problem: h.options.Redactor.Text(fault.From(err).Message())}
	}
	if h.options.NoAnswers {
		view.NoAnswers = "This hub takes no answers (--no-answers): use savant approve at a terminal."
	} else if err := h.allowed(r, approveScope); err != nil {
		view.NoAnswers = fault.From(err).Details + "."
	}
	for _, each := range waiting {
		view.Asked = append(view.Asked, h.askedCall(each))
	}
	for _, each := range refused[:min(len(refused), maxRefused)] {
		row := refusedCall{When: time.UnixMilli(each.Time).UTC().Format(time.RFC3339), Session: each.Session, Tool: each.Tool, Made: each.Made}
		var names, parts []string
		for _, rule := range each.Rules {
			names = append(names, fmt.Sprintf("%s (%s:%d)", rule.Rule, rule.File, rule.Line))
			for _, part := range rule.Parts {
				parts = append(parts, part.Name+" "+strings.ReplaceAll(string(part.State), "_", " ")+": "+part.Text)
			}
		}
		row.Rules, row.Parts = strings.Join(names, ", "), h.options.Redactor.Text(shownWhole(strings.Join(parts, "\n")))
		view.Refused = append(view.Refused, row)
	}
	return view
}

func (h *Hub) askedCall(asked rulesessions.Question) askedCall {
	text, input := shownWhole(strings.Join(asked.Texts, "\n")), shownWhole(indentedWhole(asked.Input))
	of := askedCall{Name: asked.Name, Session: asked.Session, Tool: asked.Tool, Text: h.options.Redactor.Text(text), Input: h.options.Redactor.Text(input),
		Grant: fmt.Sprintf("%d × within %s", asked.Grant.Most, time.Duration(asked.Grant.Within)*time.Millisecond)}
	of.Hidden = of.Text != text || of.Input != input
	return of
}

// answerCall records a person's answer to a question about a call. Its name is a digest
// of all that the page shows of it.
func (h *Hub) answerCall(w http.ResponseWriter, r *http.Request) {
	if h.options.NoAnswers {
		h.again(w, r, fault.New(fault.ToolDenied, "this hub takes no answers (--no-answers): use savant approve at a terminal"), nil, h.overview)
		return
	}
	name, decision := r.PathValue("question"), r.PostFormValue("decision")
	waiting, err := h.options.Calls.Questions()
	if err != nil {
		h.fail(w, r, err)
		return
	}
	at := slices.IndexFunc(waiting, func(each rulesessions.Question) bool { return each.Name == name })
	switch {
	case at < 0:
		err = fault.New(fault.StateConflict, "this question no longer waits for an answer")
	case decision != "approve" && decision != "decline":
		err = fault.New(fault.InvalidParams, "approve or decline")
	case decision == "approve" && h.askedCall(waiting[at]).Hidden:
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

package hub

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"savant/fault"
)

// refusal is a form that was not accepted. The page that has the form shows it again,
// with the reason and what was filled in.
type refusal struct {
	cause error // nil: the form has the reasons beside its fields
	form  any   // the view of the form, for one that shows its own values
	act   string
	sent  url.Values
}

func refusalOf(r *http.Request) refusal { return visitOf(r).refusal }

// again shows the page of a refused form.
func (h *Hub) again(w http.ResponseWriter, r *http.Request, cause error, form any, show http.HandlerFunc) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	seen := visitOf(r)
	seen.refusal = refusal{cause: cause, form: form, act: path.Base(r.URL.Path), sent: r.PostForm}
	show(w, seen.on(r))
}

// status is the HTTP status of a page, which may show a refused form again.
func (f refusal) status() int {
	switch {
	case errors.Is(f.cause, fault.StateCorrupt): // of what was sent
		return http.StatusUnprocessableEntity
	case f.cause != nil:
		return statusOf(f.cause)
	case f.form != nil:
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// unwritten are the fields of forms that nobody writes in.
var unwritten = []string{"csrf", "step", "digest", "decision", "token", "how", "run"}

// typed returns the texts that somebody wrote in a form that is not shown again: no
// box, and no choice, which is sent as its number.
func typed(sent url.Values) []formField {
	var out []formField
	for name, values := range sent {
		text := strings.TrimSpace(strings.Join(values, "\n"))
		if len(text) > 1 && text != "yes" && text != "true" && !slices.Contains(unwritten, name) {
			out = append(out, formField{name, text})
		}
	}
	slices.SortFunc(out, func(a, b formField) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// explain puts the reason of a refusal on a page.
func (f refusal) explain(shown *page) {
	shown.Refused = f.act != ""
	if f.cause == nil {
		return
	}
	said := fault.From(f.cause)
	shown.Problem, shown.Code = said.Message(), said.Code
	if f.act == "answer" {
		shown.Typed = typed(f.sent)
	}
}

// backTo redirects from the address of a form to the page that has it: a refused form is
// shown at its own address, so links of that page lead here.
func backTo(w http.ResponseWriter, r *http.Request) {
	target := url.URL{Path: pageOf(r), RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, target.String(), http.StatusSeeOther)
}

// inbox in the query of a form's address says that the form stands on the overview.
const inbox = "inbox"

// pageOf returns the path of the page that an address below it belongs to.
func pageOf(r *http.Request) string {
	if r.URL.Query().Get("on") == inbox || strings.HasPrefix(r.URL.Path, "/calls/") {
		return "/"
	}
	return path.Dir(r.URL.Path)
}

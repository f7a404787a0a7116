package hub

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"savant/fault"
	"savant/hub/graph"
	"savant/hub/markdown"
	"savant/internal/access"
	"savant/internal/redact"
	"savant/internal/visible"
	"savant/internal/webguard"
	"savant/telemetry"
	"savant/think"
	"savant/think/flow"
)

// page is the part that all pages share.
type page struct {
	Title, At string // At is the section of the hub
	Folder    string
	Version   string
	CSRF      string
	Problem   string
	Code      fault.Code  // of the problem
	Said      string      // what was just done
	Typed     []formField // what was written in a form that is not shown again
	Refused   bool        // it shows a refused form
	Now       string      // where the stream of changes was
	Live      string      // the runs that the page follows; "any" for all
	Back      string      // the page to return to from a problem
	View      any
}

// source is the text of a file. Only certain secrets are redacted, so that expressions
// which only name one stay.
type source string

// show renders a page. Secrets are redacted before rendering, and invisible characters
// escaped.
func (h *Hub) show(w http.ResponseWriter, r *http.Request, status int, name string, shown page) {
	shown.Folder, shown.Version, shown.Said = h.options.Folder, h.options.Version, said[r.URL.Query().Get("said")]
	refusalOf(r).explain(&shown)
	shown.Now = h.changes.now().String()
	shown = clean(h.options.Redactor, shown)
	shown.CSRF = visitorFrom(r).csrf()
	text, err := rendered(h.pages, name, shown)
	if err != nil {
		h.options.Logger.ErrorContext(r.Context(), "a page of the hub failed", "page", name, "cause", err.Error())
		http.Error(w, "an internal error; the log has the cause", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may be gone
}

// rendered executes a template: INTERNAL.
func rendered(pages *template.Template, name string, data any) (string, error) {
	var text strings.Builder
	if err := pages.ExecuteTemplate(&text, name, data); err != nil {
		return "", fault.New(fault.Internal, "the part %s of a page: %w", name, err)
	}
	return text.String(), nil
}

// fail renders an error with its hint.
func (h *Hub) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	h.problem(w, r, statusOf(err), err)
}

func (h *Hub) problem(w http.ResponseWriter, r *http.Request, status int, err error) {
	failure, title := fault.From(err), http.StatusText(status)
	title = title[:1] + strings.ToLower(title[1:]) // as all titles are written
	message := failure.Message()
	if status == http.StatusNotFound && failure.Hint.Call != "" {
		message = failure.Details // the hint names a tool that lists; the menu has the lists
	}
	switch {
	case errors.Is(err, fault.StateCorrupt):
		title = "The run is damaged"
	case status == http.StatusInternalServerError:
		title = "This page cannot be shown"
	case status == http.StatusRequestURITooLong:
		title = "The address is too long"
	case status == http.StatusUnprocessableEntity:
		title = "The workflow is not valid"
	case status == http.StatusServiceUnavailable:
		title = "Runs cannot be read or saved now"
	}
	shown := page{Title: title, Problem: message, Code: failure.Code}
	switch below := strings.Count(r.URL.Path, "/") > len("///"); {
	case r.Method == http.MethodPost:
		_ = r.ParseForm() // a visitor without a session has written a text, too
		shown.Typed, shown.Back = writtenTexts(r.PostForm), (&url.URL{Path: pageOf(r)}).String()
	case status == http.StatusRequestURITooLong:
		shown.Back = (&url.URL{Path: fault.Cut(r.URL.Path, maxAddress)}).String()
	case below && r.URL.Path != pageOf(r):
		shown.Back = (&url.URL{Path: pageOf(r)}).String()
	}
	h.show(w, r, status, "problem.html", shown)
}

// maxAddress bounds each text of the query of an address, as the links of its page repeat it,
// in bytes. The whole has twice that: links add to a text what they choose.
const maxAddress = 1000

// addressed refuses an address that is too long. With roomFor it bounds the size of a page.
func (h *Hub) addressed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query, longest := r.URL.Query(), len(r.URL.EscapedPath())
		for name, values := range query {
			longest = max(longest, addressSize(url.Values{name: values}))
		}
		if longest > maxAddress || addressSize(query) > 2*maxAddress {
			h.problem(w, r, http.StatusRequestURITooLong, fault.New(fault.LimitExceeded, "a text of the address has more than %d bytes, or all more than %d: search for less, or choose fewer filters", maxAddress, 2*maxAddress))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// addressSize is how much of a page a link with a query takes.
func addressSize(query url.Values) int { return len(template.HTMLEscapeString(query.Encode())) }

// roomFor returns how many of some rows with links a page shows: fewer if its address is long.
func roomFor(r *http.Request, rows int) int {
	return min(rows, 1+rows*200/(1+addressSize(r.URL.Query())))
}

// refuse and closed render the refusal of a visitor.
func (h *Hub) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusForbidden
	if errors.Is(err, fault.LimitExceeded) {
		status = http.StatusRequestEntityTooLarge
	}
	h.problem(w, r, status, err)
}

func (h *Hub) closed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		// A link on another site: the cookie comes with the step from this page to itself.
		w.Header().Set("Refresh", "0;url=?"+r.URL.RawQuery)
	}
	h.problem(w, r, http.StatusUnauthorized, err)
}

// withoutPanic answers INTERNAL if a page panics. The cause is logged.
func (h *Hub) withoutPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch cause := recover(); cause {
			case nil:
			case http.ErrAbortHandler: // ends the connection
				panic(cause)
			default:
				h.options.Logger.ErrorContext(r.Context(), "a page of the hub panicked", "method", r.Method, "path", r.URL.Path, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
				h.problem(w, r, http.StatusInternalServerError, fault.New(fault.Internal, "the page failed; the log of the hub has the cause"))
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func (h *Hub) noPage(w http.ResponseWriter, r *http.Request) {
	h.show(w, r, http.StatusNotFound, "problem.html", page{Title: "Not found", Problem: fmt.Sprintf("There is no page %q. The menu leads to the overview, the runs, the agents and the workflows.", fault.Cut(r.URL.Path, 100))})
}

// enter gives a session to the first visitor of a link, and asks others for a token.
func (h *Hub) enter(w http.ResponseWriter, r *http.Request) {
	_, known := h.gate.visitorOf(r, time.Now())
	switch key := r.URL.Query().Get("key"); {
	case key != "" && h.gate.redeem(key):
		http.SetCookie(w, h.gate.newSession(access.Caller{Scopes: access.Scopes()}, "", time.Now()))
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case known: // the link was followed twice
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case key == "" && h.gate.takesTokens():
		h.show(w, r, http.StatusOK, "enter.html", page{Title: "Enter"})
	default:
		h.closed(w, r, fault.New(fault.ToolDenied, "the link was already used, or belongs to an earlier start: savant hub prints a new one"))
	}
}

// enterWithToken gives a session to a visitor with a token.
func (h *Hub) enterWithToken(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimSpace(r.PostFormValue("token"))
	caller, err := h.gate.try(r, token, time.Now())
	if err != nil {
		h.options.Logger.WarnContext(r.Context(), "a token was refused", "from", r.RemoteAddr)
		status := http.StatusUnauthorized
		if errors.Is(err, fault.LimitExceeded) {
			status = http.StatusTooManyRequests
		}
		h.show(w, r, status, "enter.html", page{Title: "Enter", Problem: fault.From(err).Message(), Code: fault.From(err).Code})
		return
	}
	http.SetCookie(w, h.gate.newSession(caller, webguard.Digest(token), time.Now()))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// leave ends the session of a browser.
func (h *Hub) leave(w http.ResponseWriter, r *http.Request) {
	h.gate.sessions.end(visitorFrom(r).session)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, fault.UnknownRun), errors.Is(err, fault.UnknownWorkflow), errors.Is(err, fault.UnknownStep), errors.Is(err, fault.CheckpointNotFound):
		return http.StatusNotFound
	case errors.Is(err, fault.InvalidParams):
		return http.StatusBadRequest
	case errors.Is(err, fault.StateConflict), errors.Is(err, fault.InvalidTransition), errors.Is(err, fault.ApprovalRequired),
		errors.Is(err, fault.ResetNotAllowed), errors.Is(err, fault.IDCollision), errors.Is(err, fault.RunCancelled):
		return http.StatusConflict
	case errors.Is(err, fault.ToolDenied), errors.Is(err, fault.TrustRequired):
		return http.StatusForbidden
	case errors.Is(err, fault.YAMLSchemaViolation), errors.Is(err, fault.UnresolvedVar), errors.Is(err, fault.CyclicDependency), errors.Is(err, fault.AmbiguousName),
		errors.Is(err, fault.DuplicateCapture), errors.Is(err, fault.ExpressionError), errors.Is(err, fault.UnknownTool), errors.Is(err, fault.SchemaNotFound):
		return http.StatusUnprocessableEntity // the workflow has to be mended
	case errors.Is(err, fault.StateNotSaved):
		return http.StatusServiceUnavailable // the database is away, or the disk fails
	}
	return http.StatusInternalServerError
}

// clean returns a copy of a value with secrets redacted and invisible characters
// escaped in all texts.
func clean[T any](r *redact.Redactor, value T) T {
	cleanIn(r, reflect.ValueOf(&value).Elem())
	return value
}

// cleanIn cleans a value in place, and what it points to in a copy. It cannot change
// unexported fields, so a view must have none.
func cleanIn(r *redact.Redactor, value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		with := r
		if value.Type() == reflect.TypeFor[source]() {
			with = r.Certain()
		}
		value.SetString(visible.Characters(with.Text(value.String())))
	case reflect.Interface:
		if !value.IsNil() {
			value.Set(cleanCopy(r, value.Elem()))
		}
	case reflect.Pointer:
		if !value.IsNil() {
			inside := reflect.New(value.Type().Elem())
			inside.Elem().Set(cleanCopy(r, value.Elem()))
			value.Set(inside)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			cleanIn(r, value.Field(i))
		}
	case reflect.Slice:
		if !value.IsNil() {
			copied := reflect.MakeSlice(value.Type(), value.Len(), value.Len())
			reflect.Copy(copied, value)
			value.Set(copied)
		}
		fallthrough
	case reflect.Array:
		for i := range value.Len() {
			cleanIn(r, value.Index(i))
		}
	case reflect.Map:
		if value.IsNil() {
			return
		}
		copied := reflect.MakeMapWithSize(value.Type(), value.Len())
		for each := value.MapRange(); each.Next(); {
			copied.SetMapIndex(cleanCopy(r, each.Key()), cleanCopy(r, each.Value()))
		}
		value.Set(copied)
	}
}

func cleanCopy(r *redact.Redactor, value reflect.Value) reflect.Value {
	copied := reflect.New(value.Type()).Elem()
	copied.Set(value)
	cleanIn(r, copied)
	return copied
}

// indented formats a value as redacted JSON for people, by member names too. Markup
// stays: pages escape it.
func (h *Hub) indented(value any) string {
	var raw, out bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err.Error()
	}
	clean := h.options.Redactor.JSON(bytes.TrimSuffix(raw.Bytes(), []byte("\n")))
	if json.Indent(&out, clean, "", "  ") != nil {
		return string(clean)
	}
	return out.String()
}

// functions are the functions of the templates.
func functions() template.FuncMap {
	return template.FuncMap{
		"segment":   url.PathEscape, // one path segment, with any characters
		"query":     func(values url.Values) template.URL { return template.URL("?" + values.Encode()) },
		"elapsed":   telemetry.Elapsed,
		"took":      func(d time.Duration) string { return telemetry.Elapsed(float64(d) / float64(time.Millisecond)) },
		"amount":    amount,
		"when":      when,
		"clock":     clock,
		"base":      filepath.Base,
		"short":     short,
		"count":     count,
		"join":      strings.Join,
		"mark":      mark,
		"markStep":  markStep,
		"items":     func(query url.Values, id string) template.URL { return queryWith(query, "q", id+"_") },
		"line":      lineHref,
		"brief":     func(text any) string { return fault.Cut(fmt.Sprint(text), captureShown) }, // after secrets are taken out
		"cause":     think.Cause,
		"markdown":  markdown.HTML,
		"formatted": markdown.Formatted,
		"curve":     graph.Curve,
		"less":      func(a, b int) int { return a - b },
		"step":      func(query url.Values, id string) template.URL { return queryWith(query, "step", id) },
		"unit":      func(query url.Values, id string) template.URL { return queryAlso(query, "open", id) },
		"statuses":  statusOrder,
		"same":      reason.isSingleOperand,
		"point":     func(kind string) string { return strings.ReplaceAll(kind, "_", " ") },
	}
}

// when formats an RFC 3339 time for people, in UTC to the second.
func when(text string) string { return timeAs(text, time.DateTime) }

// clock formats the time of day of an RFC 3339 time, in UTC to the millisecond.
func clock(text string) string { return timeAs(text, "15:04:05.000") }

func timeAs(text, layout string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.UTC().Format(layout)
}

// short returns the beginning of a hash, enough for people to compare.
func short(hash string) string {
	_, digits, _ := strings.Cut(hash, ":")
	digits = cmp.Or(digits, hash)
	return digits[:min(12, len(digits))]
}

// count formats a number of things: "1 run", "2 runs".
func count(number int, thing string) string {
	if number == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(number) + " " + thing + "s"
}

// mark is the CSS class of a status: one of the states, each with its own shape and
// colour.
func mark(status string) string {
	switch word, _, _ := strings.Cut(status, " "); word {
	case "done", "ok", "ready", "reachable", "cached":
		return "good"
	case "failed", "error", "damaged", "blocked", "denied", "offline", "stuck", "max_steps":
		return "bad"
	case "running", "issued", "started":
		return "going"
	case "waiting": // for a person
		return "asks"
	}
	return "still"
}

// markStep is the CSS class of a step's status.
func markStep(status any) string {
	switch flow.Status(fmt.Sprint(status)) {
	case flow.Done:
		return "good"
	case flow.Failed, flow.Blocked:
		return "bad"
	case flow.Issued:
		return "going"
	}
	return "still"
}

// listPage is how many entries a page lists of what the folder has: workflows, tools, rules.
const listPage = 100

// pager describes the shown part of a list, and links to the others.
type pager struct {
	First, Last, Total int // of the shown rows, from 1
	Newer, Older       url.Values
}

// paged returns the requested part of a list, and the pager. fallback is the default
// page.
func paged(r *http.Request, name string, total, size, fallback int) (from, to int, out pager) {
	last := max(0, (total-1)/size)
	at := min(max(fallback, 0), last)
	if asked, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
		at = min(max(asked, 0), last)
	}
	from, to = at*size, min(total, (at+1)*size)
	out = pager{First: min(from+1, total), Last: to, Total: total}
	if at > 0 {
		out.Newer = with(r, name, strconv.Itoa(at-1))
	}
	if at < last {
		out.Older = with(r, name, strconv.Itoa(at+1))
	}
	return from, to, out
}

// pageOfList returns the requested part of a list as pages show them.
func pageOfList[T any](r *http.Request, name string, all []T) ([]T, pager) {
	from, to, shown := paged(r, name, len(all), roomFor(r, listPage), 0)
	return all[from:to], shown
}

// pagedBack is paged for a list whose end is of interest: the last page is shown first, and
// the first one has what is left.
func pagedBack(r *http.Request, name string, total, size int) (from, to int, out pager) {
	last := last(total, size)
	_, to, out = paged(r, name, total, size, last)
	from = (to - 1) / size * size
	left := (last+1)*size - total
	if to < total {
		to -= left
	}
	from = max(0, from-left)
	out.First, out.Last = min(from+1, total), to
	return from, to, out
}

// with returns a request's query with another value for a name. The template encodes it
// after cleaning.
func with(r *http.Request, name, value string) url.Values {
	query := r.URL.Query()
	query.Set(name, value)
	return query
}

// without returns a request's query without some names.
func without(r *http.Request, names ...string) url.Values {
	query := r.URL.Query()
	for _, each := range names {
		query.Del(each)
	}
	return query
}

// queryWith returns a query with another value for a name.
func queryWith(query url.Values, name, value string) template.URL {
	out := url.Values{name: {value}}
	for key, values := range query {
		if key != name {
			out[key] = values
		}
	}
	return template.URL("?" + out.Encode())
}

// queryAlso returns a query with an additional value for a name.
func queryAlso(query url.Values, name, value string) template.URL {
	out := maps.Clone(query)
	out[name] = append(slices.Clone(query[name]), value)
	return template.URL("?" + out.Encode())
}

// last is the number of the last page of a list.
func last(total, size int) int { return (total - 1) / size }

// contains reports whether one of the texts contains another, in any case.
func contains(wanted string, texts ...string) bool {
	if wanted == "" {
		return true
	}
	return strings.Contains(strings.ToLower(fmt.Sprint(texts)), strings.ToLower(wanted))
}

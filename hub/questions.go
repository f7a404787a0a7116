package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/hub/notify"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
	"savant/think"
	"savant/think/flow"
	"savant/think/state"
)

// questionView is a step that waits for a person, with its form.
type questionView struct {
	Step, Call, Digest string
	about
	// Hidden: a secret was redacted, or the schema contains invisible characters, so
	// the question can be declined here but not approved.
	Hidden   bool
	Approval bool
	Comment  string
	Fields   []field
	Problem  string
	// Since is the time of the question. Waits says who has to agree, and which reminder is due.
	Since string
	Waits string
	// Barred is why the visitor may not answer, or not once more: then they can only decline.
	Barred string
	OnlyNo bool
}

// question is a question to a person, with the decoding of the answer.
type question struct {
	questionView
	inputs
}

// about is what a question is about: all that its answer is bound to.
type about struct {
	Parts []questionPart
	Size  int    // of all of it in bytes, if the page has only its beginning
	All   string // the address that sends all of it
}

// questionPart is one part of a question, fully visible.
type questionPart struct{ Name, Text string }

// How many bytes of HTML a page has of all its questions, and about how many the markup of a
// part has.
const (
	questionsRoom = 64 << 10
	partMarkup    = 100
)

// fit leaves of questions what a page has room for.
func fit(questions []*about) {
	room := questionsRoom
	for i, each := range questions {
		room -= each.cut(room / (len(questions) - i))
	}
}

// cut leaves the beginning of a question, in so many bytes of HTML, and returns how many it has.
func (a *about) cut(room int) (used int) {
	all, size := a.Parts, 0
	a.Parts, a.Size = nil, 0
	for _, part := range all {
		size += len(part.Text)
		left, needed := max(0, room-used-partMarkup), len(template.HTMLEscapeString(part.Text))
		used += partMarkup + min(left, needed)
		switch {
		case needed <= left:
			a.Parts = append(a.Parts, part)
			continue
		case left > 0:
			a.Parts = append(a.Parts, questionPart{part.Name, fault.Cut(part.Text, len(part.Text)*left/needed)})
		}
		a.Size = 1
	}
	a.Size *= size
	return used
}

// sendQuestion sends all that a question is about, as text.
func (h *Hub) sendQuestion(w http.ResponseWriter, r *http.Request, parts []questionPart, err error) {
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, part := range parts {
		_, _ = w.Write([]byte("=== " + cmp.Or(part.Name, "message") + "\n" + part.Text + "\n\n")) // the client may be gone
	}
}

// questionsShown is how many questions of a run a page shows beside the one of its chosen step.
const questionsShown = 20

// shownQuestions returns the questions that a page shows of a run, and how many more wait. A
// question with a refused answer shows why.
func (h *Hub) shownQuestions(r *http.Request, key state.Key) (views []questionView, more int) {
	refused, _ := refusalOf(r).form.(questionView)
	for _, each := range h.questionsOf(r.Context(), key, visitorFrom(r).person()) {
		if each.Step == refused.Step && each.Digest == refused.Digest {
			each.questionView = refused
		} else if len(views) >= questionsShown && each.Step != r.URL.Query().Get("step") {
			more++
			continue
		}
		each.All = runPath(key) + "/value?" + url.Values{"question": {each.Step}, "digest": {each.Digest}}.Encode()
		views = append(views, each.questionView)
	}
	return views, more
}

// questionsOf returns a run's current questions as they are shown to somebody; none for an
// imported or unreadable run.
func (h *Hub) questionsOf(ctx context.Context, key state.Key, to think.Caller) []question {
	waiting, err := h.options.Think.Pending(ctx, key.Workflow, key.Run)
	if err != nil {
		return nil
	}
	var out []question
	for _, pending := range waiting {
		q := h.question(pending)
		if err := pending.Admits(to.Person(), false); err != nil {
			q.Barred, q.OnlyNo = sentence(fault.Diagnostic{Message: fault.From(err).Message()}), pending.Admits(to.Person(), true) == nil
			if !q.OnlyNo {
				q.Barred += " They answer in the hub, entered with their own token."
			}
		}
		out = append(out, q)
	}
	return out
}

func (h *Hub) question(pending think.Pending) question {
	q := question{questionView: questionView{Step: pending.StepID, Call: pending.Call, Digest: pending.Digest, Approval: flow.AnsweringOf(pending.Call) == flow.Decides, Since: pending.Since.UTC().Format(time.RFC3339Nano), Waits: waitsFor(pending)}}
	parts := partsOf(pending)
	pending.Input = h.options.Redactor.Value(pending.Input)
	q.Parts = partsOf(pending)
	q.inputs = inputsOf(pending.Form())
	q.Hidden = !q.form.IsVisible() || !slices.EqualFunc(parts, q.Parts, func(a, b questionPart) bool {
		return a == b && h.options.Redactor.Text(a.Text) == a.Text && h.options.Redactor.Text(a.Name) == a.Name
	})
	q.Parts = clean(h.options.Redactor, q.Parts) // before a page cuts them, and where no page does it
	if !q.Approval {
		q.Fields = q.fields
	}
	for i := range q.Fields {
		q.Fields[i].ID = q.Step + "." + q.Fields[i].Input
	}
	return q
}

// waitsFor says of an approval of several persons who agreed, and what is due.
func waitsFor(pending think.Pending) string {
	var said []string
	if pending.Count > 1 {
		said = append(said, fmt.Sprintf("%d of %d persons agreed%s.", len(pending.Agreed), pending.Count, strings.TrimSuffix(": "+visible.Line(strings.Join(pending.Agreed, ", ")), ": ")))
	}
	if pending.Due != "" {
		said = append(said, map[string]string{"remind": "It waits longer than its remind_after.", "escalate": "It waits longer than its escalate_after: somebody else has to look."}[pending.Due])
	}
	return strings.Join(said, " ")
}

// approvalsOf returns the approvals of a run that cover calls.
func (h *Hub) approvalsOf(ctx context.Context, key state.Key) []think.ScopedApproval {
	list, _ := h.options.Think.ScopedApprovals(ctx, key.Workflow, key.Run) // the page says why the run cannot be read
	return list
}

// revokeRun takes an approval of a run back.
func (h *Hub) revokeRun(w http.ResponseWriter, r *http.Request) {
	key := runOf(r)
	err := h.answerable(r.Context(), key)
	if err == nil {
		err = h.options.Think.Revoke(r.Context(), key.Workflow, key.Run, r.PostFormValue("step"), visitorFrom(r).person())
	}
	h.finish(w, r, err, h.showRun, runPath(key), "revoked")
}

// partsOf returns the message and everything else that a question is about.
func partsOf(pending think.Pending) []questionPart {
	out := []questionPart{{"", shownWhole(pending.Message)}}
	input, _ := pending.Input.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(input)) {
		if name == "message" {
			continue
		}
		text, isText := input[name].(string)
		if !isText {
			text = indentedWhole(input[name])
		}
		out = append(out, questionPart{name, shownWhole(text)})
	}
	if input == nil {
		out = append(out, questionPart{"input", shownWhole(indentedWhole(pending.Input))})
	}
	return out
}

// answerable returns why answers are not taken here.
func (h *Hub) answerable(ctx context.Context, key state.Key) error {
	if h.options.ReadOnly {
		return errReadOnly()
	}
	if h.options.NoAnswers {
		return fault.New(fault.ToolDenied, "this hub takes no answers (--no-answers): use savant approve %s at a terminal", key.Run)
	}
	_, err := h.changeable(ctx, key)
	return err
}

// shownWhole makes a text fully visible: it escapes invisible characters and shortens
// runs of blank lines and spaces, which could push text out of sight.
func shownWhole(text string) string {
	const marked = "  | "
	return strings.ReplaceAll(strings.TrimPrefix(visible.Block(text), marked), "\n"+marked, "\n")
}

// indentedWhole formats a value as JSON for people.
func indentedWhole(value any) string {
	raw, err := jsonvalue.EncodeIndented(value, 0)
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// answerRun records a person's answer to a question of a run.
func (h *Hub) answerRun(w http.ResponseWriter, r *http.Request) {
	key, shown := runOf(r), h.showRun
	if pageOf(r) == "/" {
		shown = h.overview
	}
	if err := h.answerable(r.Context(), key); err != nil {
		h.again(w, r, err, nil, shown)
		return
	}
	q, err := h.questionShown(r.Context(), key, r.PostFormValue("step"), r.PostFormValue("digest"), visitorFrom(r).person())
	if err != nil {
		h.again(w, r, err, nil, shown)
		return
	}
	recorded, err := h.answer(r.Context(), key, &q, r.PostForm, visitorFrom(r).person())
	if err == nil && !recorded {
		h.again(w, r, nil, q.questionView, shown)
		return
	}
	if recorded {
		h.options.Logger.InfoContext(r.Context(), "a person answered in the hub", "run", key.Run, "step", q.Step)
		h.goOn(key)
	}
	h.finish(w, r, err, shown, pageOf(r), "answered")
}

// questionShown returns the question that a page showed: STATE_CONFLICT if it waits no more, or
// is another one now.
func (h *Hub) questionShown(ctx context.Context, key state.Key, step, digest string, to think.Caller) (question, error) {
	questions := h.questionsOf(ctx, key, to)
	at := slices.IndexFunc(questions, func(q question) bool { return q.Step == step })
	switch {
	case at < 0:
		return question{}, fault.New(fault.StateConflict, "step %s of run %s no longer waits for an answer: it was answered, or the run continued", fault.Cut(step, 100), key.Run)
	case questions[at].Digest != digest:
		return question{}, fault.New(fault.StateConflict, "the question of step %s has changed since the page was loaded: read it again and answer it", fault.Cut(step, 100))
	}
	return questions[at], nil
}

// answer records what a form answers to a question. If it does not fit, nothing is recorded
// and the question says why.
func (h *Hub) answer(ctx context.Context, key state.Key, q *question, sent url.Values, by think.Caller) (recorded bool, err error) {
	answer, ok := q.read(sent)
	if !ok {
		return false, nil
	}
	_, err = h.options.Think.Approve(ctx, think.Pending{Workflow: key.Workflow, RunID: key.Run, StepID: q.Step, Digest: q.Digest}, answer, by)
	if errors.Is(err, fault.ValidationFailed) {
		q.place(fault.From(err), func(found fault.Diagnostic) string { return found.Pointer }, &q.Problem)
		return false, nil
	}
	return err == nil || blockedRun(err) != "", err
}

// read decodes the answer of a form; if it is invalid, the question holds the errors.
func (q *question) read(sent url.Values) (answer any, ok bool) {
	if q.Approval {
		q.Comment = strings.ReplaceAll(sent.Get("comment"), "\r\n", "\n")
		decision := strings.Join(sent["decision"], " ") // a form with two decisions decides nothing
		switch {
		case decision == "approve" && q.Hidden:
			q.Problem = "Not all of it is shown here, so it cannot be approved here."
		case decision == "approve", decision == "decline":
			return approval(decision == "approve", q.Comment), true
		default:
			q.Problem = "Approve or decline."
		}
		return nil, false
	}
	if q.Hidden {
		q.Problem = "Not all of it is shown here, so it cannot be answered here."
		return nil, false
	}
	filled, ok := q.inputs.read(sent)
	if !ok {
		return nil, false
	}
	answer, ok = q.form.Answer(filled)
	if !ok {
		q.Problem = "Nothing was filled in."
	}
	return answer, ok
}

func approval(approved bool, comment string) map[string]any {
	answer := map[string]any{"approved": approved}
	if comment != "" {
		answer["comment"] = comment
	}
	return answer
}

// sentence formats a diagnostic beside its field.
func sentence(found fault.Diagnostic) string {
	text := found.Message
	if found.Expected != "" && !strings.Contains(text, found.Expected) {
		text += ": expected " + found.Expected
	}
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):] + "."
}

// Notifier tells another program that a person is asked.
type Notifier interface {
	// Send takes a message and does not wait until it is delivered. It reports whether it took
	// the message; the hub sends one again that was not taken.
	Send(message notify.Message) bool
}

// noticesPause is the least time between two looks for questions, noticesTick the most:
// reminders become due, and rules ask, without a change of a run.
const (
	noticesPause = time.Second
	noticesTick  = 5 * time.Second
)

// notices sends a message for each question to a person, and again once a reminder or an
// escalation is due, until ctx ends.
func (h *Hub) notices(ctx context.Context) {
	defer h.changes.listen()()
	sent, quiet := map[string]bool{}, map[state.Key]int{}
	for ctx.Err() == nil {
		changed := h.changes.after() // before reading, so that no change is missed
		var messages []notify.Message
		messages, quiet = h.waiting(ctx, quiet)
		now := map[string]bool{}
		for _, each := range messages {
			now[each.ID] = sent[each.ID] || h.options.Notifier.Send(each)
		}
		sent = now
		select {
		case <-ctx.Done():
			return
		case <-time.After(noticesPause):
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-time.After(noticesTick):
		}
	}
}

// waiting returns a message for each question that waits. A run that asked nothing is
// read again once it has another version; quiet has the versions of those.
func (h *Hub) waiting(ctx context.Context, quiet map[state.Key]int) (out []notify.Message, still map[state.Key]int) {
	listed, err := h.options.Think.Store.List(ctx, state.Filter{})
	if err != nil {
		return nil, quiet // the pages say why
	}
	still = map[state.Key]int{}
	for _, run := range openRuns(listed, searched) {
		if version, known := quiet[run.Key()]; known && version == run.Version {
			still[run.Key()] = version
			continue
		}
		asked, err := h.options.Think.Pending(ctx, run.Workflow, run.Run)
		if err == nil && len(asked) == 0 {
			still[run.Key()] = run.Version
		}
		for _, each := range asked {
			out = append(out, h.noticeOf(each))
		}
	}
	calls, err := h.options.Calls.Questions()
	if err != nil {
		return out, still
	}
	for _, each := range calls {
		out = append(out, h.notice(each.Name, notify.Asked, time.UnixMilli(each.Time), notify.Question{Session: each.Session, Tool: each.Tool,
			Message: strings.Join(each.Texts, " "), Link: h.gate.public + "/"}))
	}
	return out, still
}

// noticeOf is the message about a step that waits.
func (h *Hub) noticeOf(pending think.Pending) notify.Message {
	kind := map[string]string{"remind": notify.Remind, "escalate": notify.Escalated}[pending.Due]
	if kind == "" {
		kind = notify.Asked
	}
	key := state.Key{Workflow: pending.Workflow, Run: pending.RunID}
	link := url.URL{Path: runPath(key)}
	return h.notice(pending.Workflow+"/"+pending.RunID+"/"+pending.StepID+"/"+pending.Digest, kind, pending.Since,
		notify.Question{Workflow: pending.Workflow, Run: pending.RunID, Step: pending.StepID, Message: pending.Message, Link: h.gate.public + link.String()})
}

// maxNotice bounds the text of a message, in bytes.
const maxNotice = 300

func (h *Hub) notice(name, kind string, since time.Time, about notify.Question) notify.Message {
	line, _, _ := strings.Cut(strings.TrimSpace(h.options.Redactor.Text(about.Message)), "\n")
	about.Message = fault.Cut(visible.Characters(line), maxNotice)
	return notify.Message{ID: "q_" + jsonvalue.HexSum([]byte(name + "/" + kind + "/" + since.UTC().Format(time.RFC3339Nano)))[:32], Type: kind, Time: since.UTC(), Data: about}
}

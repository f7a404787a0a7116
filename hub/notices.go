package hub

import (
	"context"
	"net/url"
	"strings"
	"time"

	"savant/fault"
	"savant/hub/notify"
	"savant/internal/visible"
	"savant/think"
	"savant/think/state"
)

// Notifier tells another program that a person is asked.
type Notifier interface {
	// Send takes a message and does not wait until it is delivered.
	Send(message notify.Message)
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
		var waiting []notify.Message
		waiting, quiet = h.waiting(ctx, quiet)
		now := map[string]bool{}
		for _, each := range waiting {
			if now[each.ID] = true; !sent[each.ID] {
				h.options.Notifier.Send(each)
			}
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
	for _, run := range listed[:min(len(listed), searched)] {
		if hasEnded(run.Status) || run.Status == state.StatusDamaged {
			continue
		}
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
func (h *Hub) noticeOf(asked think.Pending) notify.Message {
	kind := map[string]string{"remind": notify.Remind, "escalate": notify.Escalated}[asked.Due]
	if kind == "" {
		kind = notify.Asked
	}
	key := state.Key{Workflow: asked.Workflow, Run: asked.RunID}
	link := url.URL{Path: runPath(key)}
	return h.notice(asked.Workflow+"/"+asked.RunID+"/"+asked.StepID+"/"+asked.Digest, kind, asked.Since,
		notify.Question{Workflow: asked.Workflow, Run: asked.RunID, Step: asked.StepID, Message: asked.Message, Link: h.gate.public + link.String()})
}

// maxNotice bounds the text of a message, in bytes.
const maxNotice = 300

func (h *Hub) notice(name, kind string, since time.Time, about notify.Question) notify.Message {
	line, _, _ := strings.Cut(strings.TrimSpace(h.options.Redactor.Text(about.Message)), "\n")
	about.Message = fault.Cut(visible.Characters(line), maxNotice)
	return notify.Message{ID: "q_" + digestOf(name + "/" + kind + "/" + since.UTC().Format(time.RFC3339Nano))[:32], Type: kind, Time: since.UTC(), Data: about}
}

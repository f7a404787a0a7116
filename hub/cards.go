package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"savant/agent/memory"
	"savant/fault"
	"savant/hub/events"
	"savant/telemetry"
	"savant/think/state"
)

// cardsPage is how many steps a page shows, and maxCardText how much of a text each of
// them does, in bytes. A step that is shown alone has aloneShown of each, and sameShown of
// what is the same as before; a link has the whole.
const (
	cardsPage   = 10
	maxCardText = 400
	aloneShown  = 6 << 10
	sameShown   = 1 << 10
)

// card is a step of a run of the agent: what was decided, and what the calls brought.
type card struct {
	Step                       int // 0 for what concerns the whole run
	Alone                      bool
	Action, Tool, Model, Took  string
	Reasoning                  string
	PromptTokens, OutputTokens int
	Failed                     string // the status of a call that failed
	Calls                      []cardCall
	Models                     []modelCall
	Others                     []eventRow // refusals, retries, errors and the like
	Exchanges                  []exchangeView
	Link                       url.Values // the card alone
	Events                     url.Values // its events in the timeline
}

// cardCall is a call of a tool.
type cardCall struct {
	ID, Tool, Status, Took string
	Args, Output, Error    string
	Cut                    bool // the card alone has more
}

// exchangeView is what a model was asked and wrote.
type exchangeView struct {
	Run          string
	Model, Reply string
	Parts        []partView
	Before       string // what the prompt is compared with, "" for the first
	Lost         string // why it cannot be shown
	Whole        url.Values
}

// partView is a part of a prompt, and how it differs from the step before.
type partView struct {
	Name, Text string
	Same       bool
	Difference []diffLine
}

// diffLine is a line of a difference; Kind is its CSS class.
type diffLine struct{ Kind, Text string }

// cardTypes are the events that a card is made of.
func cardTypes() []string {
	var types []string
	for _, each := range telemetry.Types() {
		if each != telemetry.PromptSnapshot && each != telemetry.MemorySnapshot {
			types = append(types, string(each))
		}
	}
	return types
}

// cards returns a page of the steps of the selected events.
func (h *Hub) cards(r *http.Request, run string, selected events.Selection, alone int, at *pager) ([]card, error) {
	steps := selected.Steps()
	from, to, pager := pagedBack(r, "page", len(steps), cardsPage)
	*at = pager
	steps = steps[from:to]
	all, err := h.index.Select(run, events.Filter{Types: cardTypes(), Step: alone})
	if err != nil {
		return nil, err
	}
	found, err := h.index.Read(all.InSteps(steps))
	if err != nil {
		return nil, err
	}
	cards := make([]card, len(steps))
	for i, step := range steps {
		cards[i] = card{Step: step, Alone: alone > 0, Link: with(r, "step", strconv.Itoa(step)), Events: url.Values{"view": {"timeline"}, "step": {strconv.Itoa(step)}}}
		cards[i].Link.Del("page")
		cards[i].Link.Set("view", "grouped")
	}
	for _, each := range found {
		if i, known := slices.BinarySearch(steps, each.Step); known {
			cards[i].add(h, each)
		}
	}
	if alone > 0 && len(cards) > 0 {
		err = h.complete(r.Context(), run, &cards[0], found)
	}
	return cards, err
}

// add adds an event to its card.
func (c *card) add(h *Hub, e events.Event) {
	switch e.Type {
	case telemetry.ReasoningStep:
		c.Action, c.Tool, c.Model, c.Took = e.Action, e.ToolName, e.Model, telemetry.Elapsed(e.DurationMS)
		c.PromptTokens, c.OutputTokens = e.PromptTokens, e.OutputTokens
		if c.Reasoning, _ = e.Metadata["decision_summary"].(string); c.Reasoning == c.Tool {
			c.Reasoning = ""
		}
	case telemetry.LLMCall:
		c.Models = append(c.Models, modelCallOf(e.Event))
	case telemetry.ToolCallStarted:
		c.Calls = append(c.Calls, c.callOf(h, e, "running"))
	case telemetry.ToolCallCompleted:
		call := c.callOf(h, e, e.Status)
		if mark(e.Status) == "bad" {
			c.Failed = e.Status
		}
		if at := slices.IndexFunc(c.Calls, func(each cardCall) bool { return each.ID == call.ID && each.Status == "running" }); at >= 0 {
			c.Calls[at] = call
		} else {
			c.Calls = append(c.Calls, call)
		}
	default:
		row := rowOf(e)
		row.Link = url.Values{"view": {"timeline"}, "event": {row.Place}}
		c.Others = append(c.Others, row)
	}
}

func (c *card) callOf(h *Hub, e events.Event, status string) cardCall {
	out := cardCall{ID: e.CallID, Tool: e.ToolName, Status: status}
	if e.DurationMS > 0 {
		out.Took = telemetry.Elapsed(e.DurationMS)
	}
	if e.Error != nil {
		out.Error = e.Error.Code + ": " + e.Error.Details
	}
	args := string(h.options.Redactor.JSON(e.Args))
	if c.Alone {
		out.Args, out.Output = h.indented(e.Args), e.Output
		return out
	}
	out.Args, out.Output = fault.Cut(args, maxCardText), fault.Cut(e.Output, maxCardText)
	out.Cut = len(args) > maxCardText || len(e.Output) > maxCardText
	return out
}

// complete adds to a card that is shown alone what the journal has of its step, and the
// prompts and replies.
func (h *Hub) complete(ctx context.Context, run string, c *card, found []events.Event) error {
	recorded, err := h.options.Agent.Step(run, c.Step)
	if err != nil {
		return err
	}
	if recorded.Index > 0 {
		c.Reasoning = recorded.Reasoning
	}
	for i, call := range recorded.Calls {
		if i < len(c.Calls) && c.Calls[i].Tool == call.Tool && len(call.Output) > 0 {
			c.Calls[i].Output = fault.Cut(h.textOf(call.Output), aloneShown)
		}
	}
	before, step, err := h.exchangeBefore(run, c.Step)
	if err != nil {
		return err
	}
	c.Exchanges = h.exchanges(ctx, state.Key{Run: run}, found, before, step)
	return nil
}

// exchanges shows what models were asked in calls and wrote. Each is compared with the one
// before it, the first with an earlier one, if that has a name.
func (h *Hub) exchanges(ctx context.Context, run state.Key, calls []events.Event, before memory.Exchange, name string) (out []exchangeView) {
	for _, each := range calls {
		digest, kept := each.Metadata[telemetry.MetaExchange].(string)
		if !kept {
			continue
		}
		view := exchangeView{Run: run.Run, Model: each.Model, Before: name, Whole: url.Values{"digest": {digest}}}
		asked, failed := h.exchange(ctx, run, digest)
		if failed != nil {
			view.Lost = fault.From(failed).Message()
		}
		view.Reply = fault.Cut(h.pretty(asked.Reply), aloneShown)
		for _, part := range asked.Parts {
			view.Parts = append(view.Parts, h.partView(part, before))
		}
		out = append(out, view)
		before, name = asked, "the call before"
	}
	return out
}

// exchange reads what a model was asked for a run of the agent, or for a step of a workflow.
func (h *Hub) exchange(ctx context.Context, run state.Key, digest string) (asked memory.Exchange, err error) {
	if run.Workflow == "" {
		return h.options.Agent.Exchange(run.Run, digest)
	}
	raw, err := h.options.Think.Store.Artifact(ctx, digest)
	if err == nil && json.Unmarshal(raw, &asked) != nil {
		err = fault.New(fault.StateCorrupt, "the prompt of a model that was kept for run %s is damaged", run.Run)
	}
	return asked, err
}

// exchangeBefore returns what a model was last asked before a step, and in which step.
func (h *Hub) exchangeBefore(run string, step int) (asked memory.Exchange, in string, err error) {
	calls, err := h.index.Select(run, events.Filter{Types: []string{string(telemetry.LLMCall)}})
	place, found := calls.Before(step)
	if err != nil || !found {
		return asked, "", err
	}
	call, err := h.index.Read([]telemetry.Place{place})
	if err != nil {
		return asked, "", err
	}
	digest, kept := call[0].Metadata[telemetry.MetaExchange].(string)
	if !kept {
		return asked, "", nil
	}
	asked, err = h.options.Agent.Exchange(run, digest)
	if err != nil {
		return asked, "", nil //nolint:nilerr // it is only compared with
	}
	return asked, "step " + strconv.Itoa(call[0].Step), nil
}

// partView compares a part of a prompt with that of an earlier one.
func (h *Hub) partView(part memory.Part, before memory.Exchange) partView {
	out := partView{Name: part.Name, Text: h.pretty(part.Text)}
	if at := slices.IndexFunc(before.Parts, func(p memory.Part) bool { return p.Name == part.Name }); at >= 0 {
		earlier := h.pretty(before.Parts[at].Text)
		out.Same = earlier == out.Text
		out.Difference = differences(earlier, out.Text)
	}
	out.Text = fault.Cut(out.Text, aloneShown)
	if out.Same {
		out.Text = fault.Cut(out.Text, sameShown)
	}
	return out
}

// sendExchange sends a whole prompt with its reply as text.
func (h *Hub) sendExchange(w http.ResponseWriter, r *http.Request) {
	run, digest := runOf(r), r.URL.Query().Get("digest")
	var exchange memory.Exchange
	calls, err := h.modelCalls(run)
	if err == nil && run.Workflow != "" && !slices.ContainsFunc(calls, func(e events.Event) bool { return e.Metadata[telemetry.MetaExchange] == digest }) {
		err = fault.New(fault.UnknownRun, "the trace of run %s has no such call of a model", fault.Cut(run.Run, 100))
	}
	if err == nil {
		exchange, err = h.exchange(r.Context(), run, digest)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, part := range append(exchange.Parts, memory.Part{Name: "reply", Text: exchange.Reply}) {
		_, _ = w.Write([]byte("=== " + part.Name + "\n" + h.options.Redactor.Text(h.pretty(part.Text)) + "\n\n")) // the client may be gone
	}
}

// differences returns the lines of a unified difference, without its head.
func differences(before, after string) (out []diffLine) {
	if before == after {
		return nil
	}
	size := 0
	for line := range strings.Lines(string(diff.Diff("", []byte(before+"\n"), "", []byte(after+"\n")))) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
			continue
		}
		if size += len(line); size > aloneShown {
			return append(out, diffLine{"hint", "… the rest of the difference is left out"})
		}
		kind := map[byte]string{'+': "more", '-': "less", '@': "hint"}[(line + " ")[0]]
		out = append(out, diffLine{kind, line})
	}
	return out
}

// pretty indents a text that is JSON.
func (h *Hub) pretty(text string) string {
	var out bytes.Buffer
	if trimmed := strings.TrimSpace(text); !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") || json.Indent(&out, []byte(text), "", "  ") != nil {
		return text
	}
	return out.String()
}

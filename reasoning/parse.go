package reasoning

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/redact"
)

// MaxAnswer is the size of an answer in bytes above which it is refused, and
// MaxCalls the number of calls one intent may have.
const (
	MaxAnswer = 4 << 20
	MaxCalls  = 64
)

// maxReceived is how much of a refused answer an error repeats, in bytes.
const maxReceived = 500

// ParseIntent reads an answer and mends what the table of
// docs/reasoning-api.md says is mended; Repairs tells what that was. Anything
// else is INVALID_INTENT, with the beginning of what was received, redacted.
// Tool names become those of tools, where one is meant.
func ParseIntent(answer []byte, tools []Tool) (Intent, error) {
	members, err := object(answer)
	if err != nil {
		return Intent{}, invalid(answer, err.Error())
	}
	m := &mender{members: members, tools: tools}
	intent := m.intent()
	if m.wrong != "" {
		return Intent{}, invalid(answer, m.wrong)
	}
	intent.Repairs = m.repairs
	return intent, nil
}

// invalid is INVALID_INTENT, with what was received.
func invalid(answer []byte, what string) error {
	received := fault.Cut(redact.Shapes().Text(strings.ToValidUTF8(string(answer[:min(len(answer), 4*maxReceived)]), "\uFFFD")), maxReceived)
	return fault.New(fault.InvalidIntent, "the answer is not an intent: %s", redact.Shapes().Text(what)).Attach("received", received)
}

// object takes the one JSON object that an answer is apart.
func object(answer []byte) (map[string]json.RawMessage, error) {
	if len(answer) > MaxAnswer {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxAnswer)
	}
	answer = bytes.TrimSpace(bytes.TrimPrefix(answer, []byte("\xEF\xBB\xBF")))
	switch {
	case len(answer) == 0:
		return nil, fmt.Errorf("it is empty")
	case answer[0] == '<':
		return nil, fmt.Errorf("it is a page of HTML or XML, not JSON; is the address that of a Reasoning API?")
	case answer[0] != '{':
		return nil, fmt.Errorf("expected a JSON object, got %s", fault.Cut(string(answer), 40))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	return members, nil
}

// mender reads the members of an intent. It notes what it mends, and the
// first thing that cannot be.
type mender struct {
	members map[string]json.RawMessage
	tools   []Tool
	repairs []string
	wrong   string
}

func (m *mender) mended(format string, args ...any) {
	m.repairs = append(m.repairs, fault.Cut(fmt.Sprintf(format, args...), 200))
}

func (m *mender) refuse(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
	}
}

func (m *mender) intent() Intent {
	m.unwrap()
	m.earlierRepairs()
	intent := Intent{Action: m.action(), Reasoning: m.text("reasoning"), Model: m.text("model"),
		PromptTokens: m.count("prompt_tokens"), OutputTokens: m.count("output_tokens"), Prompt: m.prompt()}
	switch intent.Action {
	case ActionTool:
		m.tool(&intent)
	case ActionReason:
		if intent.Reasoning == "" {
			m.refuse("action is %q, but reasoning is missing", intent.Action)
		}
	case ActionFinish:
		m.finish(&intent)
	case ActionError:
		if intent.Error = m.text("error"); intent.Error == "" {
			m.mended("error was missing")
			intent.Error = "no reason was given"
		}
	}
	return intent
}

// unwrap takes {"intent": {…}} for what is inside.
func (m *mender) unwrap() {
	if _, has := m.members["action"]; has {
		return
	}
	if inner, err := object(m.members["intent"]); err == nil {
		m.members = inner
		m.mended("the intent was inside a member of that name")
	}
}

func (m *mender) earlierRepairs() {
	var earlier []string
	if json.Unmarshal(m.members["repairs"], &earlier) == nil {
		m.repairs = append(earlier[:min(len(earlier), MaxCalls)], m.repairs...)
	}
}

func (m *mender) action() Action {
	given := m.text("action")
	known := []Action{ActionTool, ActionReason, ActionFinish, ActionError}
	action := Action(strings.ToLower(strings.TrimSpace(given)))
	switch {
	case given == "":
		m.refuse("action is missing; expected tool, reason, finish or error")
	case !slices.Contains(known, action):
		m.refuse("unknown action %q; expected tool, reason, finish or error", fault.Cut(given, 60))
	case string(action) != given:
		m.mended("action was written %q", given)
	}
	return action
}

// finish takes the reasoning for the answer where there is no other.
func (m *mender) finish(intent *Intent) {
	if intent.Final = m.text("final"); intent.Final != "" {
		return
	}
	if intent.Reasoning == "" {
		m.refuse("action is %q, but final is missing", intent.Action)
		return
	}
	m.mended("final was missing: the reasoning stands for it")
	intent.Final = intent.Reasoning
}

// text reads a string; anything else that is not null becomes its JSON.
func (m *mender) text(name string) string {
	raw := m.members[name]
	if isNull(raw) {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	m.mended("%s was not a string", name)
	return string(raw)
}

// count reads a number of tokens; what is none is left out.
func (m *mender) count(name string) int {
	raw := m.members[name]
	if isNull(raw) {
		return 0
	}
	var count int
	if json.Unmarshal(raw, &count) == nil && count >= 0 {
		return count
	}
	m.mended("%s was not a number of tokens", name)
	return 0
}

// prompt reads the description of a prompt; what is none is left out.
func (m *mender) prompt() *Prompt {
	raw := m.members["prompt"]
	if isNull(raw) {
		return nil
	}
	var prompt Prompt
	if err := json.Unmarshal(raw, &prompt); err != nil || prompt.Hash == "" || prompt.Tokens < 0 || slices.ContainsFunc(prompt.Sections, Section.negative) {
		m.mended("prompt was not a description of one")
		return nil
	}
	prompt.Sections = list(prompt.Sections)
	return &prompt
}

func (s Section) negative() bool { return s.Tokens < 0 || s.Trimmed < 0 }

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

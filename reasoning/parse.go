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

// MaxAnswer bounds an answer in bytes, MaxCalls the calls of an intent.
const (
	MaxAnswer = 4 << 20
	MaxCalls  = 64
)

// maxReceived bounds the quoted part of a refused answer, in bytes.
const maxReceived = 500

// ParseIntent parses an answer, with the repairs that docs/reasoning-api.md lists;
// Intent.Repairs has those made. Any other answer is INVALID_INTENT with its redacted
// beginning. Names of tools become canonical.
func ParseIntent(answer []byte, tools []Tool) (Intent, error) {
	members, err := object(answer)
	if err != nil {
		return Intent{}, invalid(answer, err.Error())
	}
	r := &repairer{members: members, tools: tools}
	intent := r.intent()
	if r.wrong != "" {
		return Intent{}, invalid(answer, r.wrong)
	}
	intent.Repairs = r.repairs
	return intent, nil
}

// invalid is INVALID_INTENT with the beginning of the answer.
func invalid(answer []byte, what string) error {
	return fault.New(fault.InvalidIntent, "the answer is not an intent: %s", redact.Shapes().Text(what)).Attach("received", beginning(answer))
}

// beginning quotes an answer, redacted.
func beginning(answer []byte) string {
	return fault.Cut(redact.Shapes().Text(strings.ToValidUTF8(string(answer[:min(len(answer), 4*maxReceived)]), "\uFFFD")), maxReceived)
}

// object returns the members of the one JSON object that an answer must be.
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

// repairer reads the members of an intent. It collects its repairs and the first error.
type repairer struct {
	members map[string]json.RawMessage
	tools   []Tool
	repairs []string
	wrong   string
}

func (r *repairer) repaired(format string, args ...any) {
	r.repairs = append(r.repairs, fault.Cut(fmt.Sprintf(format, args...), 200))
}

func (r *repairer) refuse(format string, args ...any) {
	if r.wrong == "" {
		r.wrong = fmt.Sprintf(format, args...)
	}
}

func (r *repairer) intent() Intent {
	r.unwrap()
	r.earlierRepairs()
	intent := Intent{Action: r.action(), Reasoning: r.text("reasoning"), Model: r.text("model"),
		PromptTokens: r.count("prompt_tokens"), OutputTokens: r.count("output_tokens"), Prompt: r.prompt(),
		Warnings: r.warnings(), Cached: read(r, "cached", "true or false", func(bool) bool { return true })}
	switch intent.Action {
	case ActionTool:
		r.tool(&intent)
	case ActionReason:
		if intent.Reasoning == "" {
			r.refuse("action is %q, but reasoning is missing", intent.Action)
		}
	case ActionFinish:
		r.finish(&intent)
	case ActionError:
		r.failure(&intent)
		if _, given := r.members["final"]; given {
			intent.Final = r.text("final")
		}
	}
	return intent
}

// unwrap reads {"intent": {…}} as what is inside.
func (r *repairer) unwrap() {
	if _, has := r.members["action"]; has {
		return
	}
	if inner, err := object(r.members["intent"]); err == nil {
		r.members = inner
		r.repaired("the intent was inside a member of that name")
	}
}

func (r *repairer) earlierRepairs() {
	var earlier []string
	if json.Unmarshal(r.members["repairs"], &earlier) == nil {
		r.repairs = append(earlier[:min(len(earlier), MaxCalls)], r.repairs...)
	}
}

func (r *repairer) action() Action {
	given := r.text("action")
	actions := []Action{ActionTool, ActionReason, ActionFinish, ActionError}
	action := Action(strings.ToLower(strings.TrimSpace(given)))
	switch {
	case given == "":
		r.refuse("action is missing; expected tool, reason, finish or error")
	case !slices.Contains(actions, action):
		r.refuse("unknown action %q; expected tool, reason, finish or error", fault.Cut(given, 60))
	case string(action) != given:
		r.repaired("action was written %q", given)
	}
	return action
}

// failure reads the error, or uses the reasoning instead.
func (r *repairer) failure(intent *Intent) {
	if intent.Error = r.text("error"); intent.Error != "" {
		return
	}
	r.repaired("error was missing")
	if intent.Error = intent.Reasoning; intent.Error == "" {
		intent.Error = "no reason was given"
	}
}

// finish reads the final answer. It accepts it under the name of the action, and falls
// back to the reasoning.
func (r *repairer) finish(intent *Intent) {
	if intent.Final = r.text("final"); intent.Final != "" {
		return
	}
	if raw := r.members["finish"]; len(raw) > 0 && strings.ContainsRune(`"{[`, rune(raw[0])) {
		if intent.Final = r.text("finish"); intent.Final != "" {
			r.repaired("final was named finish")
			return
		}
	}
	if intent.Reasoning == "" {
		r.refuse("action is %q, but final is missing", intent.Action)
		return
	}
	r.repaired("final was missing: the reasoning was used instead")
	intent.Final = intent.Reasoning
}

// text reads a string. Any other value but null becomes its JSON.
func (r *repairer) text(name string) string {
	raw := r.members[name]
	if isNull(raw) {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	r.repaired("%s was not a string", name)
	return string(raw)
}

// count reads a number of tokens and ignores anything else.
func (r *repairer) count(name string) int {
	return read(r, name, "a number of tokens", func(count int) bool { return count >= 0 })
}

// prompt reads the description of a prompt and ignores anything else.
func (r *repairer) prompt() *Prompt {
	prompt := read(r, "prompt", "a description of one", func(p *Prompt) bool {
		return p.Hash != "" && p.Tokens >= 0 && !slices.ContainsFunc(p.Sections, func(s Section) bool { return s.Tokens < 0 || s.Trimmed < 0 })
	})
	if prompt != nil {
		prompt.Sections = list(prompt.Sections)
	}
	return prompt
}

// warnings reads the warnings, limited in number and length.
func (r *repairer) warnings() []string {
	given := read(r, "warnings", "a list of sentences", func([]string) bool { return true })
	for i := range given {
		given[i] = fault.Cut(given[i], maxReceived)
	}
	return given[:min(len(given), MaxCalls)]
}

// read returns a member of an intent, or the zero value if it is missing or invalid.
func read[T any](r *repairer, name, expected string, valid func(T) bool) T {
	var value, nothing T
	raw := r.members[name]
	if isNull(raw) {
		return nothing
	}
	if json.Unmarshal(raw, &value) != nil || !valid(value) {
		r.repaired("%s was not %s", name, expected)
		return nothing
	}
	return value
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

package proof

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Assertion is a sentence of a model that something was done, and how it is known. A lint
// never says that it is false.
type Assertion struct {
	Line     int     `json:"line"`
	Sentence string  `json:"sentence"`
	Verdict  Verdict `json:"verdict"`
	Why      string  `json:"why"`
}

// Verdict says how an assertion is known.
type Verdict string

// The verdicts.
const (
	Witnessed   Verdict = "witnessed"   // the call is there, and it succeeded
	Outdated    Verdict = "stale"       // files were edited after it
	Unwitnessed Verdict = "unwitnessed" // no such call succeeded
)

// subject is something that a model says it did.
type subject struct {
	name              string
	says, call, tools *regexp.Regexp
	// fades: an edit takes the call's worth away.
	fades bool
}

// subjects are few and narrow: what is not understood is not judged.
func subjects() []subject {
	return []subject{
		{"tests", regexp.MustCompile(`(?i)\b(tests?|test suite|specs?) (are |is |has |have |do |does )?(now |all |still )*(pass(es|ed|ing)?|green)\b`),
			regexp.MustCompile(`(?i)(^|[\s\"'/:_.-])(tests?|specs?|check|verify|unittest|pytest|nextest|ctest|phpunit|rspec|jest|vitest|playwright|cypress|tox|nox|npm t)($|[\s\"':_.-])`),
			regexp.MustCompile(`(?i)((^|[._])ci[._]run .*\b(tests?|check|specs?)\b|run_?tests?( |$))`), true},
		{"push", regexp.MustCompile(`(?i)\b(i('ve| have)?|we('ve| have)?|changes? (was|were|are|have been)|branch (was|is|has been)) (now |just |also |successfully )*pushed\b`),
			regexp.MustCompile(`\bgit\b.*\bpush\b`), regexp.MustCompile(`(?i)(^|[._])(git_)?push( |$)`), false},
		{"commit", regexp.MustCompile(`(?i)\b(i('ve| have)?|we('ve| have)?|changes? (was|were|are|have been)) (now |just |also |successfully )*committed\b`),
			regexp.MustCompile(`\bgit\b.*\bcommit\b`), regexp.MustCompile(`(?i)(^|[._])(git_)?commit( |$)`), false},
	}
}

// doubt marks sentences that assert nothing: wishes, conditions, questions, what others say.
func doubt() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\b(not|no|never|if|whether|should|will|would|could|may|might|can|until|once|when|unless|after|before|ensure|verify|check|confirm|make sure|so that|to see|need|expect|hope|want|let me|let's|previously|earlier|assum\w*|claims?|says?|said|user)\b|n't\b|\?)`)
}

// reading fits a command that shows or changes files, whose words are no programs.
func reading() *regexp.Regexp {
	return regexp.MustCompile(`^[\s"'(\[]*(cat|ls|grep|rg|ag|echo|printf|rm|mkdir|touch|cp|mv|cd|find|fd|head|tail|less|sed|awk|vim?|nano|code|chmod|diff|wc|tree|git (add|diff|log|show|status|checkout|grep|rm|mv)|which|man)\b`)
}

func editing() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[._])(edit|multi_?edit|write|notebookedit|apply_patch|replace|(write|create|edit)_file|str_replace\w*|write_to_file|replace_in_file)$`)
}

// logLine is a line of a client's session log.
type logLine struct {
	Type    string `json:"type"`
	Message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// block is a part of a message.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	Of      string          `json:"tool_use_id"`
	IsError bool            `json:"is_error"`
	Content json.RawMessage `json:"content"`
}

// Event is what a session did: a call with what came of it, or a text of its model.
type Event struct {
	// Line is where it stands: a line of a log, a step of a run.
	Line int
	// Text is what the model said, "" for a call.
	Text string
	Tool string
	// Input are the arguments of the call, Output is what it returned, both JSON.
	Input, Output json.RawMessage
	Failed        bool
}

// ReadLog reads a client's session log, a JSON object a line with messages of text,
// tool_use and tool_result. Lines that it does not know are passed over; known counts
// those that it does. A call stands where its result came.
func ReadLog(log []byte) (events []Event, known int) {
	calls := map[string]Event{}
	for number, line := range bytes.Split(log, []byte("\n")) {
		var entry logLine
		if json.Unmarshal(line, &entry) != nil || len(entry.Message.Content) == 0 {
			continue
		}
		known++
		var blocks []block
		if json.Unmarshal(entry.Message.Content, &blocks) != nil {
			blocks = []block{{Type: "text"}}
			_ = json.Unmarshal(entry.Message.Content, &blocks[0].Text) // else it is no text
		}
		for _, each := range blocks {
			call, begun := calls[each.Of]
			switch {
			case each.Type == "tool_use":
				calls[each.ID] = Event{Tool: each.Name, Input: each.Input}
			case each.Type == "tool_result" && begun:
				delete(calls, each.Of)
				call.Line, call.Failed, call.Output = number+1, each.IsError, each.result()
				events = append(events, call)
			case each.Type == "text" && (entry.Type == "assistant" || entry.Message.Role == "assistant"):
				events = append(events, Event{Line: number + 1, Text: each.Text})
			}
		}
	}
	return events, known
}

// result returns what a tool returned: the text of its first block, if that is JSON.
func (b block) result() json.RawMessage {
	var blocks []block
	text := ""
	if json.Unmarshal(b.Content, &blocks) == nil && len(blocks) > 0 {
		text = blocks[0].Text
	} else {
		_ = json.Unmarshal(b.Content, &text) // else it is no text
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return nil
}

// Lint judges what the model asserts in a session.
func Lint(events []Event) []Assertion {
	l := linter{subjects: subjects(), doubt: doubt(), edits: editing(), reads: reading(), quoted: regexp.MustCompile("\"[^\"]*\"|“[^”]*”|(?s)```.*?(```|$)|`[^`]*`")}
	for _, each := range events {
		if each.Tool != "" {
			l.calls = append(l.calls, made(each))
			continue
		}
		for _, sentence := range strings.FieldsFunc(l.quoted.ReplaceAllString(each.Text, `""`), func(r rune) bool { return strings.ContainsRune(".!;\n", r) }) {
			l.judge(each.Line, strings.TrimSpace(sentence))
		}
	}
	return l.found
}

// call is a call of a session. command is what it carried out: a line of a shell, or the
// name of a command of ci.yaml.
type call struct {
	tool, command string
	failed        bool
}

// made reads a call. A command that ended with another code than 0 failed, although the
// tool that carried it out did not.
func made(e Event) call {
	var input struct {
		Command json.RawMessage `json:"command"`
		Name    string          `json:"name"`
	}
	_ = json.Unmarshal(e.Input, &input) // else it has no command
	var output struct {
		Status   string `json:"status"`
		ExitCode int    `json:"exit_code"`
	}
	_ = json.Unmarshal(e.Output, &output) // else it says nothing of a status
	command := ""
	if json.Unmarshal(input.Command, &command) != nil { // a list of words
		command = string(input.Command)
	}
	if command == "" {
		command = input.Name
	}
	return call{e.Tool, command, e.Failed || output.ExitCode != 0 || output.Status == "failed" || output.Status == "error"}
}

// linter reads one session.
type linter struct {
	subjects                    []subject
	doubt, edits, reads, quoted *regexp.Regexp
	calls                       []call
	found                       []Assertion
}

// judge judges a sentence that asserts something.
func (l *linter) judge(line int, sentence string) {
	if strings.ContainsAny(sentence, "`\">|") || l.doubt.MatchString(sentence) {
		return
	}
	for _, each := range l.subjects {
		if each.says.MatchString(sentence) {
			verdict, why := l.look(each)
			l.found = append(l.found, Assertion{line, sentence, verdict, why})
		}
	}
}

// ran reports whether a part of a line of a shell could show what is asserted.
func (l *linter) ran(about subject, line string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|;&\n", r) }), func(part string) bool {
		return !l.reads.MatchString(part) && about.call.MatchString(part)
	})
}

func (l *linter) look(about subject) (Verdict, string) {
	last, edit := -1, -1
	for i, each := range l.calls {
		if l.ran(about, each.command) || about.tools.MatchString(each.tool+" "+each.command) {
			last = i
		} else if l.edits.MatchString(each.tool) && !each.failed {
			edit = i
		}
	}
	switch {
	case last < 0:
		return Unwitnessed, "there is no call with a result that could show it"
	case l.calls[last].failed:
		return Unwitnessed, "the last call that could show it failed"
	case about.fades && edit > last:
		return Outdated, "files were edited after the last call that shows it"
	}
	return Witnessed, "the last call that could show it succeeded"
}

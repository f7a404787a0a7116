package proof

import (
	"bytes"
	"encoding/json"
	"regexp"
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
	Witnessed   Verdict = "witnessed"   // the log has the call, and it succeeded
	Outdated    Verdict = "stale"       // files were edited after it
	Unwitnessed Verdict = "unwitnessed" // the log has no such call that succeeded
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
			regexp.MustCompile(`\b(go test|pytest|npm (run )?test|yarn test|pnpm (run )?test|cargo (test|nextest)|make (test|check)|jest|vitest|mvn .*(test|verify)|gradlew? .*test|ctest|rspec|phpunit|tox|dotnet test)\b`),
			regexp.MustCompile(`(?i)(ci[._](run|run_tests)|run_?tests?)$`), true},
		{"push", regexp.MustCompile(`(?i)\b(i('ve| have)?|we('ve| have)?|changes? (was|were|are|have been)|branch (was|is|has been)) (now |just |also |successfully )*pushed\b`),
			regexp.MustCompile(`\bgit\b.*\bpush\b`), regexp.MustCompile(`(?i)(^|[._])(git_)?push$`), false},
		{"commit", regexp.MustCompile(`(?i)\b(i('ve| have)?|we('ve| have)?|changes? (was|were|are|have been)) (now |just |also |successfully )*committed\b`),
			regexp.MustCompile(`\bgit\b.*\bcommit\b`), regexp.MustCompile(`(?i)(^|[._])(git_)?commit$`), false},
	}
}

// doubt marks sentences that assert nothing: wishes, conditions, questions, what others say.
func doubt() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(\b(not|no|never|if|whether|should|will|would|could|may|might|can|until|once|when|unless|after|before|ensure|verify|check|confirm|make sure|so that|to see|need|expect|hope|want|let me|let's|previously|earlier|assum\w*|claims?|says?|said|user)\b|n't\b|\?)`)
}

func editing() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(edit|multiedit|write|notebookedit|apply_patch|replace|write_file|create_file|str_replace\w*|write_to_file|replace_in_file)$`)
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
}

// made is a call in the log.
type made struct {
	tool, command string
	order         int
	ended, failed bool
}

// Lint reads a client's session log, a JSON object a line with messages of text, tool_use
// and tool_result, and judges what the model asserts. Lines that it does not know are
// passed over; known counts those that it does.
func Lint(log []byte) (found []Assertion, known int) {
	l := linter{subjects: subjects(), doubt: doubt(), edits: editing(), calls: map[string]*made{}}
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
			l.read(number+1, entry, each)
		}
	}
	return l.found, known
}

// linter reads one log.
type linter struct {
	subjects     []subject
	doubt, edits *regexp.Regexp
	calls        map[string]*made
	all          []*made
	found        []Assertion
}

func (l *linter) read(line int, entry logLine, each block) {
	switch {
	case each.Type == "tool_use":
		var input struct {
			Command json.RawMessage `json:"command"`
		}
		_ = json.Unmarshal(each.Input, &input) // else it has no command
		call := &made{tool: each.Name, command: string(input.Command), order: len(l.all)}
		l.calls[each.ID], l.all = call, append(l.all, call)
	case each.Type == "tool_result" && l.calls[each.Of] != nil:
		l.calls[each.Of].ended, l.calls[each.Of].failed = true, each.IsError
	case each.Type == "text" && (entry.Type == "assistant" || entry.Message.Role == "assistant"):
		for _, sentence := range strings.FieldsFunc(each.Text, func(r rune) bool { return strings.ContainsRune(".!;\n", r) }) {
			l.judge(line, strings.TrimSpace(sentence))
		}
	}
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

func (l *linter) look(about subject) (Verdict, string) {
	var last *made
	edit := -1
	for _, each := range l.all {
		if about.call.MatchString(each.command) || about.tools.MatchString(each.tool) {
			last = each
		} else if l.edits.MatchString(each.tool) && !each.failed {
			edit = each.order
		}
	}
	switch {
	case last == nil:
		return Unwitnessed, "the log has no call that could show it"
	case !last.ended || last.failed:
		return Unwitnessed, "the last call that could show it failed, or has no result"
	case about.fades && edit > last.order:
		return Outdated, "files were edited after the last call that shows it"
	}
	return Witnessed, "the last call that could show it succeeded"
}

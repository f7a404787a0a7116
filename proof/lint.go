package proof

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"savant/internal/jsonvalue"
	"savant/internal/pattern"
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
		{"tests", regexp.MustCompile(`(?i)\b(tests?|test suite|specs?) (are |is |has |have |do |does )?(now |all |still )*(pass(es|ed|ing)?|green)($|\W*$|[^\w\s]|\s+([^\w\s]|now|again|too|locally|here|successfully|cleanly|with|in|on|by|as|for|and|but|according)\b)`),
			regexp.MustCompile(`(?i)(^|[\s\"'/:_.-])(tests?|specs?|check|verify|unittest|pytest|nextest|ctest|phpunit|rspec|jest|vitest|playwright|cypress|tox|nox|npm t)($|[\s\"':_.-])`),
			regexp.MustCompile(`(?i)((^|[._])ci[._]run .*\b(tests?|check|specs?)\b|run_?tests?( |$))`), true},
		{"push", regexp.MustCompile(`(?i)\b(i('ve| have)?|we('ve| have)?|changes? (was|were|are|have been)|branch (was|is|has been)) (now |just |also |successfully )*pushed\b`),
			ofGit("push"), regexp.MustCompile(`(?i)(^|[._])(git_)?push( |$)`), false},
		{"commit", regexp.MustCompile(`(?i)\b(i('ve| have)?|we('ve| have)?|changes? (was|were|are|have been)) (now |just |also |successfully )*committed\b`),
			ofGit("commit"), regexp.MustCompile(`(?i)(^|[._])(git_)?commit( |$)`), false},
	}
}

// ofGit fits a command of git, behind its options.
func ofGit(command string) *regexp.Regexp {
	return regexp.MustCompile(`\bgit(\.exe)?([\s"',]+(-(c|C|-git-dir|-work-tree)([\s,]*["'][\s"',]*[^"']*["']|[\s"',]+\S+)|-\S+))*[\s"',]+` + command + `($|[\s"',;)<>])`)
}

// doubt marks sentences that assert nothing of the session: wishes, conditions, questions, what
// others say, what was so before or elsewhere, and other meanings of the words.
var doubt = pattern.Lazy(`(?i)(\b(not|no|never|if|whether|should|will|would|could|may|might|can|until|once|when|unless|after|before|ensure|verify|check|confirm|make sure|so that|to see|need|expect|hope|want|let me|let's|previously|earlier|yesterday|last (time|week|night)|ago|assum\w*|claims?|says?|said|user|` +
	`according to|reported(ly)?|reports|badges?|dashboards?|(in|on|by|from|at|under) (the |our |its )?(ci|pipelines?|github|gitlab|main|master|upstream|production|staging|windows|mac\w*|linux)|` +
	`none|some|most|half|fail\w*|\d+ (of|out of) (the )?\d+|pass\w* on\W*$|pushed (\S+ ){0,4}(back|down|into|aside|off|against)|committed to)\b|n't\b|\?)`)

// reading fits a command that shows or changes files, whose words are no programs, and one that
// only says what it would do.
var reading = pattern.Lazy(`^[\s"'(\[]*(cat|ls|grep|rg|ag|echo|printf|rm|mkdir|touch|cp|mv|cd|find|fd|head|tail|less|sed|awk|vim?|nano|code|chmod|diff|wc|tree|git (add|diff|log|show|status|checkout|grep|rm|mv)|which|man)\b|[\s"'](-list|--(dry-run|collect-only|list\w*|no-run|help|version))\b`)

// message fits what a commit says, and failing a count of none that failed.
var (
	message = pattern.Lazy(`(-\w*m|--message)[\s,=\\]*["'][\s"',\\]*[^"'\\]*`)
	failing = pattern.Lazy(`(?i)\b(0|zero) (tests? )?fail\w*`)
)

// hiding fits a call that carries out what its words do not name: a task, a script, another
// machine or another agent. It may have done what is asserted.
var hiding = pattern.Lazy(`(?i)^[\s"'(\[]*((/\S*/)?(ba|z|da)?sh[\s",]+-\w+[\s",']+)?(\w+=\S*\s)*((make|just|task|rake|mage|invoke|(npm|cargo|uv|poetry)\s+(run|make)|yarn|pnpm|npx|bunx?|docker|podman|ssh|gh|glab|act|pre-commit)($|[\s"',])|[\w.~-]*/|(ba|z|da)?sh\s+[^-\s]|\S*(task|agent|delegate|workflow)\w*\s)`)

// quoting fits what a text repeats, and what a client has a model write of the session so far
// when the session grows long.
var quoting = pattern.Lazy("(?s)<(?:analysis|summary|state_snapshot)>.*?(?:</(?:analysis|summary|state_snapshot)>|$)|\"[^\"]*\"|“[^”]*”|```.*?(?:```|$)|`[^`]*`")

var editing = pattern.Lazy(`(?i)(^|[._])(edit|multi_?edit|write|notebookedit|apply_patch|replace|(write|create|edit)_file|str_replace\w*|write_to_file|replace_in_file)$`)

// Lint judges what the model asserts in a session.
func Lint(events []Event) []Assertion {
	l := linter{subjects: subjects()}
	for _, each := range events {
		if each.Tool != "" {
			l.calls = append(l.calls, made(each))
			continue
		}
		for _, sentence := range strings.FieldsFunc(quoting().ReplaceAllString(each.Text, `""`), func(r rune) bool { return strings.ContainsRune(".!;\n", r) }) {
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
	raw, command := e.Input, jsonvalue.Text(e.Input) // the arguments, or JSON of them, as a text
	if json.Valid([]byte(command)) {
		raw = []byte(command)
	}
	if input, err := jsonvalue.Read(raw); err == nil && len(input.Members) > 0 {
		found := first(input, []string{"command", "cmd", "name"})
		if command = jsonvalue.Text(found.Raw); command == "" { // a list of words
			command = string(found.Raw)
		}
	}
	output, _ := jsonvalue.Read(e.Output) // else there is none
	return call{e.Tool, command, e.Failed || failed(output)}
}

// linter reads one session.
type linter struct {
	subjects []subject
	calls    []call
	found    []Assertion
}

// judge judges a sentence that asserts something.
func (l *linter) judge(line int, sentence string) {
	if strings.ContainsAny(sentence, "`\">|") || doubt().MatchString(failing().ReplaceAllString(sentence, "")) {
		return
	}
	for _, each := range l.subjects {
		if each.says.MatchString(sentence) {
			if verdict, why := l.look(each); verdict != "" {
				l.found = append(l.found, Assertion{line, sentence, verdict, why})
			}
		}
	}
}

// ran reports whether a part of a line of a shell could show what is asserted.
func (s subject) ran(line string) bool { return runs(line, s.call) }

// runs reports whether a part of a line of a shell that does not only read fits a pattern.
func runs(line string, pattern *regexp.Regexp) bool {
	return slices.ContainsFunc(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("|;&\n", r) }), func(part string) bool {
		return !reading().MatchString(message().ReplaceAllString(part, "")) && pattern.MatchString(part)
	})
}

// look returns no verdict where a call may have done what is asserted and does not show it.
func (l *linter) look(about subject) (Verdict, string) {
	last, edit, hidden := -1, -1, -1
	for i, each := range l.calls {
		switch {
		case editing().MatchString(each.tool):
			if !each.failed {
				edit = i
			}
		case about.ran(each.command) && strings.Contains(each.command, "||") && !each.failed:
			hidden = i
		case about.ran(each.command) || about.tools.MatchString(each.tool+" "+each.command):
			last = i
		case !each.failed && (runs(each.command, hiding()) || hiding().MatchString(each.tool+" ")):
			hidden = i
		}
	}
	stale := about.fades && edit > last
	switch {
	case last >= 0 && !l.calls[last].failed && !stale:
		return Witnessed, "the last call that could show it succeeded"
	case hidden > last && (!about.fades || hidden > edit):
		return "", ""
	case last < 0:
		return Unwitnessed, "there is no call with a result that could show it"
	case l.calls[last].failed:
		return Unwitnessed, "the last call that could show it failed"
	}
	return Outdated, "files were edited after the last call that shows it"
}

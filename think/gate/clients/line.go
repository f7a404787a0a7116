package clients

import (
	"slices"
	"strings"

	"savant/think/gate"
)

// Line is the line of a POSIX shell that a client runs for an event: program, quoted for
// the shell, answers it with some more words. Where the program is gone, or cannot be started, the line itself answers: a call of a
// session that may have an open run here is refused, and everything else passes with a
// warning. Otherwise a program that was moved or deleted would refuse every call of every
// project, or none of the session that it held.
func (c Client) Line(program, event string, more ...string) string {
	run := strings.Join(append([]string{program, "hook", c.Name}, more...), " ")
	// The exit statuses 126 and 127 say that a program could not be started.
	tried := "if command -v " + program + " >/dev/null; then " + run + " ; s=$?; case $s in 126|127) ;; *) exit $s;; esac; fi; "
	pass := "exit 0"
	if !c.silent && c.status == 0 {
		pass = "echo {}; " + pass
	}
	kind := c.kind(event)
	alone := len(c.project) == 0 && slices.Equal(c.folder, []string{"cwd"}) // the line knows the folders
	switch {
	case kind == gate.AfterTool && alone:
		return unheard(tried+pass, pass, ".savant/hooks/*/*.json")
	case kind != gate.BeforeTool:
		return tried + pass
	}
	answer := c.Answer(event, gate.Decision{Verdict: gate.Refuse, Reason: "This session may have an open run of a Savant workflow, and the program of Savant is gone. " +
		"A person must install it again (savant setup " + c.Name + "), or delete the session's file in .savant/hooks."})
	refuse := "printf %s " + singleQuoted(answer.Stdout) + "; exit 0"
	if answer.Exit != 0 {
		refuse = "printf %s " + singleQuoted(answer.Stderr) + " >&2; exit 2"
	}
	// A session's file has its id, and so has the event: the folders above are searched,
	// and that of the project where the client names it. The name of the folder that has
	// the file begins with a number, which a clone that brings one does not know.
	gone := tried + "i=$(cat); for d in \"$SAVANT_PATH\" \"$CLAUDE_PROJECT_DIR\" \"$PWD\"; do while test \"$d\"; do " +
		"h=$(ls -di \"$d/.savant/hooks/.\" 2>/dev/null | sed 's/^ *//; s/ .*//'); " +
		"s=$(grep -ho '\"session\":\"[^\"][^\"]*\"' \"$d\"/.savant/hooks/\"$h\"-*/" + c.Name + "-*.json 2>/dev/null | cut -d: -f2-); " +
		"if test \"$s\" && printf %s \"$i\" | grep -qF \"$s\"; then " + refuse + "; fi; case $d in */*) d=${d%/*};; *) d=;; esac; done; done; " +
		"echo 'savant: the program of the hook is gone, and calls pass; savant setup " + c.Name + " sets it up again' >&2; " + pass
	if alone { // before a call, the tools of a session are noted where Think was used
		return unheard(gone, pass, ".savant/hooks")
	}
	return gone
}

// unheard is a line for a call, of which only the rules of a project and the runs that a
// session is held to want to hear: where the working folder and all above it have no rules, no
// packages and no sign of such a session, it passes without the program. It looks for these
// itself, so it cannot be led to another answer than the program. Calls of Think, which begin
// such a session, and events about another folder always go to the program.
func unheard(heard, pass, sign string) string {
	return "t() { " + heard + "; }; r=; for d in \"$SAVANT_PATH\" \"$CLAUDE_PROJECT_DIR\" \"$GEMINI_PROJECT_DIR\" \"$QWEN_PROJECT_DIR\" \"$PWD\" /; do test \"$d\" || continue; " +
		"d=$(CDPATH= cd -- \"$d\" 2>/dev/null && pwd -P) || r=1; while test \"$d\"; do " +
		"for f in \"$d\"/rules \"$d\"/workflows.lock \"$d\"/" + sign + "; do if test -e \"$f\"; then r=1; fi; done; " +
		"d=${d%/*}; done; done; if test \"$r\"; then t; fi; i=$(cat); " +
		"case $i in *[Tt]hink*|*'\"cwd\"'*'\"cwd\"'*) ;; *'\"cwd\":\"'\"$PWD\"'\"'*|*'\"cwd\": \"'\"$PWD\"'\"'*) " + pass + ";; esac; " +
		"printf %s \"$i\" | { t; }; exit $?"
}

// singleQuoted is a text as one word of a shell.
func singleQuoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"savant/internal/pattern"
)

var (
	// interprets matches programs that read their arguments, or their input, as commands.
	interprets = pattern.Lazy(`^(\w{0,4}sh|eval|cmd|powershell|iex|invoke-expression|start-process|trap|su|source|\.|env|watch|tmux|screen|parallel|script|at|batch|make)$`)
	// textOption matches options whose argument is a text to be run.
	textOption = pattern.Lazy(`(?i)^(-[a-z]*[cex]|--?(command|eval|exec|run))$`)
	// plain matches programs that start no other but after a word of starting.
	plain = pattern.Lazy(`^(git|docker|podman|kubectl|helm|npm|pnpm|yarn|cargo|go|pip3?|apt(-get)?|brew|echo|printf|e?grep|rg|ag|man|cat|ls|cp|mv|rm|cd|mkdir|touch|sed|awk)$`)
	// starting matches the words after which such a program takes a command.
	starting = pattern.Lazy(`^(exec|run|foreach|dlx|-x|--exec|-exec(dir)?|-ok(dir)?)$`)
	// programName matches what can be the name of a program.
	programName = pattern.Lazy(`^[\w./\\:~][^\s='"]*$`)
)

// nameOf returns the name of a program.
func nameOf(word string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(word, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".com"} {
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// command adds a command, and those in its words. One that stands within another has no
// further ones: the other has them, too.
func (r *reader) command(words []string, input string, within bool) {
	if r.depth >= maxDepth {
		r.words += maxWords // nobody knows what it starts
	}
	if len(words) == 0 || r.spent() {
		return
	}
	r.depth++
	defer func() { r.depth-- }()
	if slices.ContainsFunc(words, func(word string) bool { return nameOf(word) == "xargs" }) {
		words = append(slices.Clip(words), strings.Fields(input)...)
	}
	name := nameOf(words[0])
	r.found, r.words = append(r.found, Command{name, words[1:]}), r.words+len(words)
	r.function(words, input)
	r.builtin(name, words[1:], input)
	r.texts(name, words, input)
	places, starts := 0, !plain().MatchString(name)
	for i, word := range words[1:] {
		switch {
		case within || places >= maxPlaces || places >= minPlaces && places*len(words) >= maxWords/4:
			return
		case starts && word != "." && programName().MatchString(word): // the folder, not what reads a file
			places++
			r.command(words[i+1:], input, true)
		case !starts:
			starts = starting().MatchString(word)
		}
	}
}

// function adds the commands of a function that is called; of one that calls itself, once.
func (r *reader) function(words []string, input string) {
	body := r.functions[words[0]]
	if body == nil {
		return
	}
	outer := r.scope
	delete(r.functions, words[0])
	r.scope = r.scope.with(words[1:])
	r.statement(body, input)
	r.scope, r.functions[words[0]] = outer, body
}

// builtin does what a shell does itself: it sets variables, and names for commands.
func (r *reader) builtin(name string, words []string, input string) {
	for i, word := range words {
		alias, value, is := strings.Cut(word, "=")
		switch {
		case name == "read":
			r.scope.set(word, input)
		case name == "set" && word == "--":
			r.scope = r.scope.with(words[i+1:])
		case name == "alias" && is && r.depth < maxDepth:
			if file := parse(value + ` "$@"`); file != nil && len(file.Stmts) > 0 {
				r.functions[alias] = file.Stmts[len(file.Stmts)-1]
			}
			r.text(value)
		}
	}
}

// texts adds the commands in the words of a command that are texts for an interpreter.
func (r *reader) texts(name string, words []string, input string) {
	if interprets().MatchString(name) {
		r.text(input)
		r.text(strings.ReplaceAll(strings.Join(words[1:], " "), ",", " "))
		outer := r.scope
		for i, word := range words[1:] {
			if r.scope = outer; textOption().MatchString(words[i]) && i+3 < len(words) {
				r.scope = outer.with(words[i+3:])
			}
			r.text(word)
		}
		r.scope = outer
		return
	}
	for i, word := range words[1:] {
		option, value, is := strings.Cut(word, "=")
		switch {
		case name == "git" && strings.HasPrefix(option, "alias."):
			if !is && i+2 < len(words) {
				value = words[i+2]
			}
			if command, own := strings.CutPrefix(value, "!"); own {
				r.text(command)
			} else {
				r.text("git " + value)
			}
		case is && textOption().MatchString(option):
			r.text(value)
		case i > 0 && textOption().MatchString(words[i]), starting().MatchString(words[i]):
			r.text(word)
		}
	}
}

// quoted returns words as a shell would read them back.
func quoted(words []string) []string {
	all := make([]string, len(words))
	for i, word := range words {
		text, err := syntax.Quote(word, syntax.LangBash)
		if err != nil {
			text = "?"
		}
		all[i] = text
	}
	return all
}

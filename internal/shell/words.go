package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"savant/internal/pattern"
)

// What a program makes of its words cannot be told from them, so these are tables. A program of
// none of them may start what follows it (sudo, timeout, the next wrapper that somebody writes): a
// name that is missing here can only show too many commands.
var (
	// shells read their words and their input as commands.
	shells = pattern.Lazy(`^(\w{0,4}sh|eval|cmd|powershell|iex|invoke-expression|start-process|trap|su|source|\.|env|watch|tmux|screen|parallel|script|at|batch|crontab|make|hyperfine|concurrently)$`)
	// languages read their words and their input as code. startsPrograms matches code that has commands.
	languages = pattern.Lazy(`^(python|pypy|node|deno|bun|tsx|ts-node|ruby|perl|php|lua|luajit|[gmn]?awk|sed|tclsh|expect|rscript|julia|elixir|osascript|emacs|n?vim?|ex|ed|psql|mysql|mariadb|sqlite|gdb|lldb)[\d.]*$`)
	// data are programs whose words and options name no command, and managers those with commands of
	// their own, such as git rm, and others only behind a word of starting.
	data     = pattern.Lazy(`^(echo|printf|e?grep|fgrep|rg|ag|man|cat|tee|ls|cp|mv|rm|cd|mkdir|touch|curl|jq)$`)
	managers = pattern.Lazy(`^(git|gh|glab|docker|podman|kubectl|helm|npm|pnpm|yarn|cargo|go|pip3?|apt(-get)?|brew|aws|gcloud|az|terraform|svn|hg)$`)
	starting = pattern.Lazy(`^(exec|run|foreach|dlx|-x|--exec|-exec(dir)?|-ok(dir)?)$`)
	// textOption matches options whose argument is a text to be run, the long ones of managers, too.
	textOption = pattern.Lazy(`(?i)^(-[a-z]*[cex]|--?([\w-]*command|eval|exec|run))$`)
	longOption = pattern.Lazy(`^--([\w-]*command|eval|exec)$`)
	// startsPrograms matches code that starts programs, in the languages above.
	startsPrograms = pattern.Lazy("(?im)subprocess|child_process|open3|(system2?|exec\\w*|spawn\\w*|popen\\w*|passthru|shell\\w*|cmd|command|run|call-process|qx)\\s*[(\"'\\[{`]|" +
		"do shell script|(shell-command|call-process|exec|spawn) |\\$`|%x\\W|\\bopen\\b[^;]*\\||\\|\\s*(\"|getline)|^\\s*[+:\\\\.%]*(!|shell |system )|[\\d$/]e ")
	// quoting languages start what is between two backquotes.
	quoting = pattern.Lazy(`^(perl|ruby|php|julia)`)
	// heldCommand matches the names of variables whose value programs run.
	heldCommand = pattern.Lazy(`(COMMAND|EDITOR|PAGER|BROWSER|_SSH|^VISUAL|_ASKPASS)$`)
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
	name := r.add(words)
	if r.function(words, input); !within {
		r.script(words[0], "")
	}
	r.builtin(name, words[1:], input)
	r.texts(name, words, input)
	places, starts := 0, !managers().MatchString(name)
	for i, word := range words[1:] {
		switch {
		case data().MatchString(name), within || places >= maxPlaces || places >= minPlaces && places*len(words) >= maxWords/4:
			return
		case starts && word != "." && programName().MatchString(word): // the folder, not what reads a file
			places++
			r.command(words[i+1:], input, true)
		case !starts:
			starts = starting().MatchString(word)
		}
	}
}

// add adds one command, once, and returns its name.
func (r *reader) add(words []string) string {
	name := nameOf(words[0])
	if key := strings.Join(words, "\x00"); !r.seen[key] {
		r.seen[key] = true
		r.found, r.words = append(r.found, Command{name, words[1:]}), r.words+len(words)
	}
	return name
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
		case name == "read" && !strings.HasPrefix(words[0], "-"), name == "read" && !strings.Contains(words[0], "a"):
			r.scope.set(word, input)
		case name == "read", name == "mapfile", name == "readarray":
			r.scope.values[word] = expand.Variable{Set: true, Kind: expand.Indexed, List: strings.Fields(input)}
		case name == "printf" && word == "-v" && i+2 < len(words):
			r.scope.set(words[i+1], formatted(words[i+2:]))
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

// texts adds the commands in the words of a command, and in its input, that are texts for an
// interpreter.
func (r *reader) texts(name string, words []string, input string) {
	switch {
	case shells().MatchString(name):
		r.shell(words, input)
		return
	case data().MatchString(name):
		return
	case name == "git":
		r.configured(words)
	}
	code, starts := languages().MatchString(name), !managers().MatchString(name)
	if code {
		r.code(name, input)
	}
	for i, word := range words[1:] {
		option, value, is := strings.Cut(word, "=")
		starts = starts || starting().MatchString(words[i])
		switch {
		case code:
			r.code(name, word)
			r.script(word, name)
		case is && textOption().MatchString(option):
			r.text(value)
		case i > 0 && starts && textOption().MatchString(words[i]), starting().MatchString(words[i]), longOption().MatchString(words[i]):
			r.text(word)
		}
	}
}

// shell adds the commands in the words and the input of a shell.
func (r *reader) shell(words []string, input string) {
	r.text(input)
	r.text(strings.ReplaceAll(strings.Join(words[1:], " "), ",", " "))
	outer := r.scope
	for i, word := range words[1:] {
		if r.scope = outer; textOption().MatchString(words[i]) && i+3 < len(words) {
			r.scope = outer.with(words[i+3:])
		}
		r.text(word)
		r.script(word, "sh")
	}
	r.scope = outer
}

// configured adds the commands that git is configured to run, and those for which it is given other
// names.
func (r *reader) configured(words []string) {
	for i, word := range words[1:] {
		option, value, is := strings.Cut(word, "=")
		if !is && i+2 < len(words) {
			value = words[i+2]
		}
		switch command, own := strings.CutPrefix(value, "!"); {
		case strings.HasPrefix(option, "alias.") && !own:
			r.text("git " + value)
		case strings.HasPrefix(option, "alias."), is && words[i] == "-c" && !strings.HasPrefix(option, "-"):
			r.text(command)
		}
	}
}

// code adds the texts in code of a language as commands, if it starts programs.
func (r *reader) code(language, code string) {
	if r.work += len(code); r.work < maxWork && (startsPrograms().MatchString(code) || quoting().MatchString(language) && strings.Contains(code, "`")) {
		for _, found := range listInCode().FindAllStringSubmatch(code, -1) {
			list := strings.FieldsFunc(found[2], isBetweenWords)
			r.command(list, "", false)
			r.command(append(strings.FieldsFunc(found[1], isBetweenWords), list...), "", false)
		}
		r.loose(apart.Replace(code))
	}
}

// listInCode matches a list, and the text before it: it may be the words of a command, or those that
// follow a program's name.
var listInCode = pattern.Lazy(`("[^"\n]*"|'[^'\n]*')?[\s,{\w:]*\[([^\[\]]*["'][^\[\]]*)\]`)

// apart puts a line for itself what may be a command.
var apart = strings.NewReplacer("`", "\n", "[", "\n", "]", "\n", "!", " ")

// script adds the commands of a file that the text has written: one that an interpreter reads, or,
// without one, that says its own.
func (r *reader) script(file, interpreter string) {
	content, written := r.files[path.Clean(file)]
	if !written {
		return
	}
	if head, _, _ := strings.Cut(content, "\n"); interpreter == "" && strings.HasPrefix(head, "#!") {
		interpreter = nameOf(head[strings.LastIndexAny(head, "/ ")+1:])
	}
	delete(r.files, path.Clean(file)) // it may run itself
	if languages().MatchString(interpreter) {
		r.code(interpreter, content)
	} else {
		r.text(content)
	}
	r.files[path.Clean(file)] = content
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

package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"savant/internal/pattern"
	"savant/internal/regular"
)

// maxProgram is the size up to which a change of a program is noticed, in bytes. maxWords
// bounds the words of a command that are looked at.
const (
	maxProgram = 256 << 20
	maxWords   = 10_000
)

// Invocation is a command of a folder that is started without a shell.
type Invocation struct {
	// Folder is the folder that brings it, Dir where it is started, relative to that.
	Folder, Dir string
	// Words are the program and its arguments, Env the values of its variables.
	Words, Env []string
}

// Programs returns the digests of the program files in the folder that a command names: the
// program, every file that an interpreter is given, also within a line for a shell, and
// what looks like a script or a library; and what scripts of a shell and files of make among
// them start in turn. What other programs read is not among them.
func (c Invocation) Programs() map[string]string {
	f := finder{folder: Resolved(c.Folder), dir: c.Dir, found: map[string]string{}, ruled: map[string]bool{}}
	if len(c.Words) > 0 {
		f.program(c.Words[0])
		f.words(c.Words)
		folders := changedTo(strings.Join(c.Words, " "))
		for _, value := range c.Env {
			folders = append(folders, filepath.SplitList(value)...)
		}
		for _, folder := range folders[:min(len(folders), maxFolders)] {
			in := f
			in.dir = f.inDir(folder)
			in.words(c.Words)
			f.looked = in.looked
		}
	}
	for _, value := range c.Env {
		f.line(value)
		if f.unnamed {
			f.words(append([]string{"sh"}, cutAt(value, separators)...))
		}
	}
	return f.found
}

// finder collects the programs of one command.
type finder struct {
	folder, dir string
	found       map[string]string
	ruled       map[string]bool // folders and programs of which rules has added the files
	looked      int
	// unnamed says that an interpreter is given a file whose whole name a shell computes,
	// depth in how many scripts the words stand.
	unnamed bool
	depth   int
}

// interpreter matches the names of programs that carry out the files they are given.
var interpreter = pattern.Lazy(`^(source|exec|eval|(ba|da|z|k|c|tc|a|fi)?sh|pwsh|powershell|cmd|python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|luajit|java|javaw|groovy|kotlin|scala|Rscript|julia|elixir|escript|guile|racket|tclsh|wish|expect|osascript|[gmn]?awk|sed|[gbp]?make|ninja|just|task|rake|gdb|sqlite3|psql)[0-9.]*(\.exe)?$`)

// runner matches the programs that carry out commands of a file by their names.
var runner = pattern.Lazy(`^(p?npm|yarn|composer)$`)

// takesScript matches the interpreters whose first argument is the name of a file.
var takesScript = pattern.Lazy(`^(\.|source|(ba|da|z|k|c|tc|a|fi)?sh|pwsh|python|pypy|node|deno|bun|ruby|perl|php|lua)[0-9.]*(\.exe)?$`)

// programEnding matches the names of scripts, and of files that a program can load.
var programEnding = pattern.Lazy(`(?i)\.(sh|bash|zsh|fish|ksh|py|pyw|pyz|rb|pl|pm|php|lua|[mc]?jsx?|[mc]?tsx?|ps1|psm1|bat|cmd|vbs|wsf|jar|war|class|wasm|exe|com|dll|so|dylib|node|r|jl|tcl|groovy|kts|exs|awk|mk|go|rs|hs|kt|swift|dart|clj|ml|nim)$`)

// program adds the program itself.
func (f *finder) program(name string) {
	if !strings.ContainsAny(name, `/\`) {
		found, err := exec.LookPath(name)
		if err != nil {
			return
		}
		name = found
	}
	f.add(name, anyFile)
}

// words adds what the words of a command name.
func (f *finder) words(words []string) {
	by := "" // the interpreter
	for i, word := range words {
		if f.looked++; f.looked > maxWords {
			f.found[fmt.Sprintf("a word beyond the first %d", maxWords)] = "changes are not noticed"
			return
		}
		wanted := looksLikeProgram
		option, value := optionOf(word)
		switch {
		case i > 0 && (output().MatchString(words[i-1]) || output().MatchString(option)):
			wanted = hasEnding
		case by != "":
			wanted = anyFile
			f.begin(by, words[i-1], word)
			f.begin(by, option, value)
		}
		if i > 0 {
			f.add(word, wanted)
			f.add(value, wanted)
		}
		if i > 0 && strings.ContainsAny(word, separators) {
			f.line(word)
		}
		if name := path.Base(filepath.ToSlash(word)); by == "" && interpreter().MatchString(name) {
			by = name
			f.rules(by)
		} else if by == "" && runner().MatchString(name) {
			f.rules(name)
		}
	}
}

// makefiles are the files that a program of the make kind reads unasked, by the end of its
// name: its commands, and what sets with which program they are carried out.
var makefiles = map[string][]string{"make": {"GNUmakefile", "makefile", "Makefile"}, "ninja": {"build.ninja"}, "just": {"justfile", "Justfile", ".justfile"},
	"task": {"Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"}, "rake": {"Rakefile", "rakefile"},
	"npm": {"package.json", ".npmrc", "pnpm-workspace.yaml", ".pnpmfile.cjs"}, "yarn": {"package.json", ".yarnrc", ".yarnrc.yml"},
	"bun": {"package.json", "bunfig.toml"}, "deno": {"deno.json", "deno.jsonc", "package.json"}, "composer": {"composer.json"}}

// commandsOf are files of which only one member has commands.
var commandsOf = map[string]string{"package.json": "scripts", "composer.json": "scripts", "deno.json": "tasks"}

// maxAbove bounds the folders above the one of a command whose files are looked for.
const maxAbove = 8

// rules adds the files that a program of the make kind reads unasked, where it is started or,
// but for make itself, in the nearest folder above.
func (f *finder) rules(by string) {
	key := f.dir + "\x00" + by
	if f.ruled[key] {
		return
	}
	f.ruled[key] = true
	for kind, names := range makefiles {
		if !strings.HasSuffix(by, kind) {
			continue
		}
		for _, each := range names {
			for above := range maxAbove {
				if f.add(strings.Repeat("../", above)+each, anyFile) || kind == "make" || kind == "ninja" {
					break
				}
			}
		}
	}
}

// workspaces adds the files of the folders that a package has as parts of it.
func (f *finder) workspaces(patterns []string) {
	for i, each := range patterns {
		if i == maxMatching || strings.Contains(each, "**") || strings.ContainsAny(each, "{(") {
			f.found[each] = "changes are not noticed: its name is computed"
			return
		}
		for _, folder := range f.entries(strings.TrimSuffix(each, "/"), true) {
			f.add(folder+"/package.json", anyFile)
		}
	}
}

func anyFile(*os.File) bool { return true }

// optionOf splits an option from its value: --name=value, -n=value, -nvalue.
func optionOf(word string) (option, value string) {
	if len(word) > 2 && word[0] == '-' && word[1] != '-' && word[2] != '=' {
		return word[:2], word[2:]
	}
	option, value, _ = strings.Cut(word, "=")
	return option, value
}

// computed is the interpreter whose name a shell computes.
const computed = "*"

// moduleOption matches how Python is given the name of a module.
var moduleOption = pattern.Lazy(`^-[A-Za-z]*m$`)

// begin adds the files with which an interpreter begins a module, a folder, or a file
// without its ending.
func (f *finder) begin(by, option, word string) {
	var names []string
	if word != "" && (by == computed || strings.HasPrefix(by, "py")) {
		names = append(names, word+"/__main__.py")
		if moduleOption().MatchString(option) {
			module := strings.ReplaceAll(word, ".", "/")
			names = append(names, module+".py", module+"/__main__.py")
			for ; module != "." && module != "/"; module = path.Dir(module) {
				names = append(names, module+"/__init__.py")
			}
		}
	}
	if strings.HasPrefix(by, "node") && option == "--run" {
		names = append(names, "package.json")
	}
	if word != "" && (by == computed || strings.HasPrefix(by, "node") || by == "bun" || by == "deno") {
		names = append(names, word+".js", word+"/index.js")
	}
	if word != "" && strings.HasPrefix(by, "ruby") {
		names = append(names, word+".rb")
	}
	for _, each := range names {
		f.add(each, anyFile)
	}
}

// separators end the words of a line for a shell, and of the value of a variable.
const separators = " \t\r\n;&|()<>{}'\"`$=:,"

// computedFolder matches a folder that a shell computes: $PWD/, "$(dirname "$0")"/. It is
// taken for the one where the command is started.
var computedFolder = pattern.Lazy("\"?(\\$\\w+|\\$\\{[^{}]*\\}|\\$\\([^()]*\\)|`[^`]*`)\"?/")

// otherFolder matches how a command says where it, or another one, is started.
var otherFolder = pattern.Lazy(`(?:^|[\s;&|('"])(?:cd|pushd|[A-Z]*PATH=|-C|--(?:prefix|chdir|directory|cwd)=?)\s*["']?([^\s;&|()'"]+)`)

// maxFolders bounds the folders that a command changes to.
const maxFolders = 8

// changedTo returns the folders that a command changes to.
func changedTo(line string) (folders []string) {
	for _, match := range otherFolder().FindAllStringSubmatch(line, maxFolders) {
		folders = append(folders, computedFolder().ReplaceAllString(match[1], "./"))
	}
	return folders
}

// inDir is a folder as it is seen from where the command is started.
func (f *finder) inDir(folder string) string {
	if filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(filepath.FromSlash(f.dir), filepath.FromSlash(folder))
}

// line adds what a line for a shell names.
func (f *finder) line(text string) {
	text = computedFolder().ReplaceAllString(text, "./")
	f.words(append([]string{"line"}, cutAt(text, separators)...))
	f.commands(text)
	if f.unnamed { // each word can be its name
		words := cutAt(text, separators)
		f.words(append([]string{"sh"}, words...))
		for _, word := range words {
			if strings.ContainsAny(word, "*?[") {
				f.matching(word, true)
			}
		}
	}
}

// commands adds what the simple commands of a line, or of a script, start.
func (f *finder) commands(text string) {
	for _, command := range cutAt(computedPart().ReplaceAllString(text, "*"), ";&|(){}\n") {
		f.command(cutAt(command, " \t\r<>'\"`@"))
	}
}

func cutAt(text, any string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(any, c) })
}

// computedPart matches what a shell computes of a name, which can then be any text.
var computedPart = pattern.Lazy("\"?(\\$\\w+|\\$\\{[^{}]*\\}|\\$\\([^()]*\\)|`[^`]*`)\"?")

// beforeCommand matches the words that stand before the name of a command.
var beforeCommand = pattern.Lazy(`^(then|do|else|elif|if|while|until|command|time|nohup|env|sudo|!|\w+=.*)$`)

// command adds what a simple command starts: its program, or the files that an interpreter
// in it is given. A shell may compute the name, or a part of it, which is * then.
func (f *finder) command(words []string) {
	by, plain, last := "", false, ""
	for _, word := range words {
		if f.looked++; f.looked > maxWords {
			f.found[fmt.Sprintf("a word beyond the first %d", maxWords)] = "changes are not noticed"
			return
		}
		name, before := path.Base(word), last
		last = word
		switch {
		case (by == "" || by == "exec") && runner().MatchString(name):
			f.rules(name)
			return
		case (by == "" || by == "exec" || by == "eval") && (word == "." || strings.TrimLeft(word, "-") == "include" || interpreter().MatchString(name)):
			by = name
			f.rules(by)
		case by == "" && (plain || strings.HasPrefix(word, "-") || beforeCommand().MatchString(word)):
			if plain && strings.Contains(word, "/") { // timeout 5 ./run
				f.add(word, isScript)
			}
		case by == "" && word == computed:
			by = computed
		case by != "" && strings.HasPrefix(word, "-"):
			option, value := optionOf(word)
			f.add(value, looksLikeProgram)
			f.begin(by, option, value)
		case by == "" && !strings.ContainsAny(word, "*?[/"):
			plain = true
		default:
			named := f.given(by, before, word)
			if !strings.HasPrefix(before, "-") {
				return
			}
			if named { // the value of the option, or what is started
				by = computed
			}
		}
	}
}

// given adds what a word names that is a program, or that an interpreter is given after
// another word, and reports whether that is one file.
func (f *finder) given(by, before, word string) (named bool) {
	f.begin(by, before, word)
	switch {
	case word == computed:
		f.unnamed = f.unnamed || takesScript().MatchString(by)
		return true
	case strings.ContainsAny(word, "*?["):
		f.matching(word, by != "" && by != computed && path.Base(word) != "*")
	case by == "":
		return f.add(word, startable)
	case by == computed:
		return f.add(word, looksLikeProgram)
	default:
		return f.add(word, anyFile)
	}
	return false
}

// maxMatching bounds the files of a computed name.
const maxMatching = 64

// matching adds the files that a pattern stands for; if not all of them, those that look like
// programs.
func (f *finder) matching(word string, all bool) {
	wanted := looksLikeProgram
	if all {
		wanted = anyFile
	}
	for _, name := range f.entries(word, false) {
		f.add(name, wanted)
	}
}

// entries returns the files that a pattern stands for, or the folders.
func (f *finder) entries(word string, folders bool) (names []string) {
	folder := path.Dir(word)
	place := f.inDir(folder)
	if !filepath.IsAbs(place) {
		place = filepath.Join(f.folder, place)
	}
	root, err := regular.OpenFolder(place)
	if err != nil && !strings.ContainsAny(folder, "*?[") {
		return nil // nothing is there
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = regular.ReadDir(root, ".")
		_ = root.Close() // only read
	}
	entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool {
		fits, _ := path.Match(path.Base(word), entry.Name())
		other := entry.IsDir()
		if folders {
			other = entry.Type().IsRegular()
		}
		return !fits || other || strings.HasPrefix(entry.Name(), ".")
	})
	if err != nil || len(entries) > maxMatching {
		f.found[word] = "changes are not noticed: its name is computed"
		return nil
	}
	for _, entry := range entries {
		names = append(names, folder+"/"+entry.Name())
	}
	return names
}

// output matches an option that names a file which is written.
var output = pattern.Lazy(`^-+(o|out.*|[a-z-]*-out(put|file)|junit[a-z-]*)$`)

func hasEnding(file *os.File) bool { return programEnding().MatchString(file.Name()) }

// looksLikeProgram reports whether a file is a script or can be started.
func looksLikeProgram(file *os.File) bool { return hasEnding(file) || startable(file) }

// startable reports whether a file can be started by its name.
func startable(file *os.File) bool {
	if info, err := file.Stat(); err == nil && info.Mode()&0o111 != 0 {
		return true
	}
	return isScript(file)
}

// isScript reports whether a file names its interpreter.
func isScript(file *os.File) bool { return bytes.HasPrefix(beginning(file, 2), []byte("#!")) }

// beginning returns the first bytes of a file.
func beginning(file *os.File, most int64) []byte {
	text, _ := io.ReadAll(io.NewSectionReader(file, 0, most))
	return text
}

// maxScript is how much of a script is read for what it starts, maxDepth in how many scripts.
const (
	maxScript = 256 << 10
	maxDepth  = 4
)

// ofShell matches the names of scripts for a shell, and of files of make.
var ofShell = pattern.Lazy(`(?i)(\.(sh|bash|zsh|ksh|mk)|(^|/)(gnumakefile|makefile|\.?justfile))$`)

// shellLine matches the first line of a script for a shell.
var shellLine = pattern.Lazy(`^#!.*\b(ba|da|z|k)?sh\b`)

// setting matches the names of files that set how the commands of a package are started.
var setting = pattern.Lazy(`^(\.npmrc|\.yarnrc(\.yml)?|pnpm-workspace\.yaml|bunfig\.toml)$`)

// inTurn adds what a script for a shell starts, where the script is started or lies.
func (f *finder) inTurn(file *os.File, place string) {
	text := beginning(file, maxScript)
	member, sets := commandsOf[filepath.Base(place)], setting().MatchString(filepath.Base(place))
	if f.depth >= maxDepth || member == "" && !sets && !ofShell().MatchString(filepath.ToSlash(place)) && !shellLine().Match(text) {
		return
	}
	var parts []string
	switch {
	case sets:
		parts = cutAt(string(text), separators+"[]")
	case member == "scripts":
		for _, each := range gjson.GetManyBytes(text, "workspaces", "workspaces.packages") {
			each.ForEach(func(_, pattern gjson.Result) bool {
				if pattern.Type == gjson.String {
					parts = append(parts, pattern.String())
				}
				return true
			})
		}
	}
	if member != "" {
		text = commandsIn(text, member, "%s\n")
	}
	in := *f
	in.dir, in.depth = filepath.Dir(place), f.depth+1
	in.workspaces(parts)
	lines := computedFolder().ReplaceAllString(string(text), "./")
	for _, dir := range []string{f.dir, filepath.Dir(place)} {
		in := *f
		in.dir, in.depth = dir, f.depth+1
		if sets {
			in.words(append([]string{"settings"}, parts...))
		} else {
			in.commands(lines)
		}
		f.looked = in.looked
	}
}

// add adds a wanted file that is in the folder or its repository, or that a link there leads
// to, and reports whether there is one.
func (f *finder) add(name string, wanted func(*os.File) bool) bool {
	if name == "" || strings.ContainsRune(name, 0) {
		return false
	}
	place := filepath.FromSlash(name)
	if !filepath.IsAbs(place) {
		dir := filepath.FromSlash(f.dir)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(f.folder, dir)
		}
		place = filepath.Join(dir, place)
	}
	target, err := filepath.EvalSymlinks(place)
	if err != nil {
		return false // nothing is there
	}
	inside := regular.Controls(f.folder, target)
	if !inside && !regular.Controls(f.folder, place) {
		return false
	}
	file, err := regular.OpenPath(target)
	if err != nil {
		return false
	}
	defer file.Close()
	key := filepath.ToSlash(regular.Relative(f.folder, place))
	switch {
	case !wanted(file):
		return false
	case inside && f.found[key] == "":
		f.found[key] = digestOf(file)
		f.inTurn(file, target)
	case inside:
	default:
		f.found[key] = "leads to " + target
	}
	return true
}

// commandsIn returns the names and values of a member of an object, each in a line: those of
// each such member, since readers differ in which of two counts. What is no JSON counts whole.
func commandsIn(text []byte, member, format string) (lines []byte) {
	if !gjson.ValidBytes(text) {
		return text
	}
	gjson.ParseBytes(text).ForEach(func(name, value gjson.Result) bool {
		if name.String() == member {
			value.ForEach(func(name, line gjson.Result) bool {
				lines = fmt.Appendf(lines, "%s:\n", name.Raw)
				for _, each := range line.Array() {
					lines = fmt.Appendf(lines, format, each)
				}
				return true
			})
		}
		return true
	})
	return lines
}

// digestOf returns the SHA-256 of a file, or of its member that has commands. One that is too
// large has no digest, which a person is told.
func digestOf(file *os.File) string {
	sum := sha256.New()
	if member := commandsOf[filepath.Base(file.Name())]; member != "" {
		if text := beginning(file, maxScript+1); len(text) <= maxScript {
			sum.Write(commandsIn(text, member, "%q\n")) // where a text ends belongs to it
			return hex.EncodeToString(sum.Sum(nil))
		}
	}
	if n, err := io.Copy(sum, io.LimitReader(file, maxProgram+1)); err != nil || n > maxProgram {
		return fmt.Sprintf("changes are not noticed: it is larger than %d MB, or cannot be read", maxProgram>>20)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// WithPrograms returns the part with the programs that it starts.
func (p Part) WithPrograms(programs map[string]string) Part {
	p.Shown = slices.Clone(p.Shown)
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		p.Shown = append(p.Shown, fmt.Sprintf("which is asked about again if %s changes (%s)", name, programs[name][:min(len(programs[name]), 60)]))
	}
	if len(programs) > 0 {
		p.Programs = programs
	}
	return p
}

// excepted reports whether a pattern stands for a program's path or its last element.
func excepted(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(each string) bool {
		whole, _ := path.Match(each, name)
		last, _ := path.Match(each, path.Base(name))
		return whole || last
	})
}

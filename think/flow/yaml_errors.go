package flow

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/pattern"
)

var yamlLine = pattern.Lazy(`line (\d+): `)

// syntax reports an error of the YAML parser, which names lines in its text.
func (r *report) syntax(err error) {
	if errors.Is(err, io.EOF) {
		r.addAt(fault.YAMLSchemaViolation, "", position{1, 1}, "the file is empty%s", r.needs)
		return
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := position{1, 1}
	if match := yamlLine().FindStringSubmatchIndex(text); match != nil {
		at.line, _ = strconv.Atoi(text[match[2]:match[3]])
		text = text[:match[0]] + text[match[1]:]
	}
	if parserError(text) {
		at.line++
		if !strings.Contains(text, "',' or") { // wrongInBraces reads those from where they begin
			at.line = max(at.line, r.firstBroken(err))
		}
	}
	if match := unknownAnchor().FindStringSubmatch(text); match != nil {
		at.line = r.lineOf("*" + match[1])
	}
	at.line = min(at.line, max(1, len(r.lines)))
	at.column = r.indent(at.line) + 1
	fix := ""
	inBraces, advice := r.wrongInBraces(at.line, text)
	if tab := r.tabAfter(at.line, text); tab.line > 0 {
		at = tab
	} else if sign := signBefore().FindSubmatchIndex(r.lines[at.line-1]); sign != nil && strings.Contains(text, "cannot start any token") {
		at.column = 1 + utf8.RuneCount(r.lines[at.line-1][:sign[2]])
	}
	switch opened := r.openQuote(); {
	case opened > 0 && (parserError(text) || strings.Contains(text, "unexpected end of stream") || opened <= at.line):
		at.line, at.column = opened, r.indent(opened)+1
		fix = "; a quote that opens on this line is not closed"
	case advice != "":
		at, fix = inBraces, "; "+advice
	case text == "did not find expected key" && r.cutAbove(at.line).line > 0:
		at, fix = r.cutAbove(at.line), "; "+adviceOnCut
	case strings.Contains(text, "mapping values are not allowed"):
		fix = "; quote a value that contains `: `"
	case strings.Contains(text, "incompatible YAML document"):
		fix = "; write %YAML 1.2, or leave the line out"
	case strings.Contains(text, "unknown escape"):
		fix = "; write \\\\ for a backslash in double quotes, or use single quotes"
	case strings.Contains(text, "block sequence entries"):
		fix = "; begin a list on a line of its own, or quote a value that starts with `- `"
	case strings.Contains(text, "could not find expected ':'"):
		fix = "; write key: value"
	case strings.Contains(text, "cannot start any token"), strings.Contains(text, "found character"), strings.Contains(text, "tab character"):
		fix = "; quote the value, and indent with spaces"
	case text == "did not find expected '-' indicator":
		fix = "; indent the line as those above it that belong to the same item"
	case strings.Contains(text, "did not find expected"):
		fix = "; quote a value that starts with a special character such as { [ & * ! | > % @ `"
	case strings.Contains(text, "unknown anchor"):
		fix = "; anchors and aliases are not part of the language: write the value out, or quote a text that starts with *"
	}
	r.addAt(fault.YAMLSchemaViolation, "", at, "%s%s", fault.Cut(text, 300), fix)
}

// maxBroken bounds the lines of a file that is parsed in parts to find the broken line.
const maxBroken = 5000

// firstBroken returns the first line with which a file fails as it does as a whole: the
// parser names the line where the block around it begins. It returns 0 if no line is found,
// or the file has too many.
func (r *report) firstBroken(whole error) int {
	if len(r.lines) > maxBroken {
		return 0
	}
	line := sort.Search(len(r.lines), func(at int) bool {
		err := yaml.Unmarshal(bytes.Join(r.lines[:at+1], []byte("\n")), new(yaml.Node))
		return err != nil && err.Error() == whole.Error()
	})
	return (line + 1) % (len(r.lines) + 1)
}

// opensQuote matches where a quoted value begins.
var opensQuote = pattern.Lazy(`(?:^|[:,\-\[{])\s*(["'])`)

// openQuote returns the line of the first unterminated quoted value, or 0. It is only
// used for a file that does not parse.
func (r *report) openQuote() int {
	for at := 0; at < len(r.lines); at++ {
		quote, open := openedOn(string(r.lines[at]))
		if !open {
			continue
		}
		end := at + 1
		for end < len(r.lines) && !bytes.Contains(r.lines[end], []byte(quote)) {
			end++
		}
		if end == len(r.lines) {
			return at + 1
		}
		line := string(r.lines[end])
		if begins := opensQuote().FindStringSubmatchIndex(line); begins != nil && begins[2] == strings.Index(line, quote) && strings.TrimSpace(line) != quote {
			return at + 1
		}
		at = end // a text of several lines
	}
	return 0
}

// maxQuoting bounds a line in which quotes are paired, in bytes.
const maxQuoting = 4 << 10

// openedOn returns the quote that is open at the end of a line.
func openedOn(line string) (quote string, open bool) {
	for len(line) <= maxQuoting {
		begins := opensQuote().FindStringSubmatchIndex(line)
		if begins == nil {
			return "", false
		}
		if comment := strings.Index(line, " #"); comment >= 0 && comment < begins[2] {
			return "", false
		}
		quote = line[begins[2]:begins[3]]
		rest := line[begins[3]:]
		if quote == `"` {
			rest = strings.ReplaceAll(strings.ReplaceAll(rest, `\\`, "__"), `\"`, "__")
		} else {
			rest = strings.ReplaceAll(rest, `''`, "__")
		}
		end := strings.Index(rest, quote)
		if end < 0 {
			return quote, true
		}
		line = rest[end+1:]
	}
	return "", false
}

// signBefore matches a value that begins with a sign that YAML keeps for itself.
var signBefore = pattern.Lazy("(?:^|[\\[{,]|[-:][ \t]|[\"']:)[ \t]*([@`%>|])")

const adviceOnCut = "quote a value that contains ` #`: a comment begins there"

// cutAbove returns where a comment ends a text that goes on in the next line, from the
// line above one on; zero for nowhere.
func (r *report) cutAbove(line int) position {
	for at := max(line-1, 1); at < len(r.lines); at++ {
		text, next := string(r.lines[at-1]), string(r.lines[at])
		comment := strings.Index(text, " #")
		if comment >= 0 && looksCut(text[comment+1:]) && r.indent(at+1) >= r.indent(at) && !beginsEntry().MatchString(next) {
			return position{at, 2 + utf8.RuneCountInString(text[:comment])}
		}
	}
	return position{}
}

// beginsEntry matches a line that does not go on with the text above it.
var beginsEntry = pattern.Lazy(`^\s*(?:$|#|-(?:\s|$)|[^\s"']+:(?:\s|$))`)

// unknownAnchor matches the one message that names no line.
var unknownAnchor = pattern.Lazy(`^unknown anchor '(.*)' referenced`)

// lineOf returns the first line that holds a text, or 1.
func (r *report) lineOf(text string) int {
	return 1 + max(0, slices.IndexFunc(r.lines, func(line []byte) bool { return bytes.Contains(line, []byte(text)) }))
}

// parserError reports whether a message comes from yaml.v3's parser, which counts lines
// from 0; its scanner counts from 1 (measured on v3.0.1).
func parserError(text string) bool {
	expected, is := strings.CutPrefix(text, "did not find expected ")
	return is && slices.Contains([]string{"key", "node content", "'-' indicator", "',' or ']'", "',' or '}'", "<document start>"}, expected)
}

// tabAfter returns the first tab that indents a line, from a line on, for an error about
// one.
func (r *report) tabAfter(line int, text string) position {
	if !strings.Contains(text, "tab character") && !strings.Contains(text, "cannot start any token") {
		return position{}
	}
	for at := line; at <= len(r.lines); at++ {
		begin := r.lines[at-1]
		space := begin[:len(begin)-len(bytes.TrimLeft(begin, " \t"))]
		if tab := bytes.IndexByte(space, '\t'); tab >= 0 && len(space) < len(begin) {
			return position{at, tab + 1}
		}
		if at > line && !strings.Contains(text, "tab character") {
			break // such a message names the line itself
		}
	}
	return position{}
}

// braces reads a map in { } or a list in [ ] character by character, to find where the
// YAML parser stopped understanding it: that one names the line where the map begins.
type braces struct {
	text string
	at   int
	open []int // where each bracket stands that is not closed
	// began is where the value or key under way begins, -1 outside of one; colons counts
	// those of the entry. ended: it was in brackets of its own, and is whole.
	began, colons int
	ended         bool
	wrong         int
	advice        string
}

// wrongInBraces returns what breaks a map or list in braces that begins on a line, and
// where; no advice where that is not found.
func (r *report) wrongInBraces(line int, text string) (position, string) {
	if !strings.HasPrefix(text, "did not find expected ',' or") && text != "did not find expected node content" && text != "did not find expected whitespace or line break" || line > len(r.lines) {
		return position{}, ""
	}
	b := &braces{text: string(bytes.Join(r.lines[line-1:min(len(r.lines), line+maxBraces)], []byte("\n"))), began: -1}
	b.read()
	if b.advice == "" {
		return position{}, ""
	}
	before := b.text[:b.wrong]
	begin := strings.LastIndexByte(before, '\n') + 1
	return position{line + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[begin:])}, b.advice
}

// maxBraces bounds the lines of a map in braces that are read to explain an error.
const maxBraces = 200

func (b *braces) read() {
	for ; b.at < len(b.text) && b.advice == ""; b.at++ {
		switch char := b.text[b.at]; {
		case b.comment():
		case char == '\'' || char == '"':
			b.skipQuoted(char)
		case char == '{' || char == '[':
			b.bracket()
		case len(b.open) == 0: // not in braces yet
			if b.began = -1; !strings.ContainsRune(" \t-:,\n", rune(char)) {
				b.began = b.at
			}
		case char == '}' || char == ']':
			b.close(char)
		case char == ',' && b.began < 0 && b.colons == 0 && !b.ended:
			b.say(b.at, "a value is missing before this comma")
		case char == ',':
			b.began, b.colons, b.ended = -1, 0, false
		case b.ended && b.beginsItem(), b.ended && !b.endsWord(b.at) && char != ':':
			b.runsOn()
		case char == ':' && b.endsWord(b.at+1):
			b.colon()
		case char == '?' && b.began >= 0:
			b.say(b.began, "quote a value that contains "+b.operator()+", in braces")
		case char == '\n':
		case b.began < 0 && (char == '!' || (char == '-' || char == '?') && b.endsWord(b.at+1)):
			b.say(b.at, "quote a value that starts with "+string(char))
		case b.began < 0 && char != ' ' && char != '\t':
			b.began = b.at
		}
	}
}

// beginsItem reports whether the item of a list in lines begins here.
func (b *braces) beginsItem() bool {
	if !strings.HasPrefix(b.text[b.at:], "- ") {
		return false
	}
	line := b.text[strings.LastIndexByte(b.text[:b.at], '\n')+1 : b.at]
	return strings.TrimSpace(line) == ""
}

// runsOn notes an entry that goes on where it should end: the braces are not closed if it
// does so in another line.
func (b *braces) runsOn() {
	if opened := b.open[len(b.open)-1]; strings.Contains(b.text[b.began:b.at], "\n") {
		b.say(opened, "this "+b.text[opened:opened+1]+" is not closed where its line ends")
		return
	}
	b.say(b.at, "a comma is missing before this")
}

// say notes what is wrong.
func (b *braces) say(at int, advice string) { b.wrong, b.advice = at, advice }

// endsWord reports whether a word ends before a position.
func (b *braces) endsWord(at int) bool {
	return at >= len(b.text) || strings.IndexByte(" \t\n,]}", b.text[at]) >= 0
}

// comment passes over a comment. One that follows a word cuts it, and all that was to
// close the braces.
func (b *braces) comment() bool {
	if b.text[b.at] != '#' || b.at > 0 && strings.IndexByte(" \t\n", b.text[b.at-1]) < 0 {
		return false
	}
	comment, _, _ := strings.Cut(b.text[b.at:], "\n")
	if looksCut(comment) && len(b.open) > 0 {
		b.say(max(b.began, 0), adviceOnCut)
	}
	b.at += len(comment) - 1
	return true
}

// skipQuoted passes over a quoted text, of which nothing may follow but the end of the entry.
func (b *braces) skipQuoted(quote byte) {
	if len(b.open) == 0 || b.began >= 0 {
		return // a quote inside a word
	}
	b.began = b.at
	for b.at++; b.at < len(b.text); b.at++ {
		escaped := quote == '"' && b.text[b.at] == '\\' || quote == '\'' && strings.HasPrefix(b.text[b.at:], "''")
		if !escaped && b.text[b.at] == quote {
			break
		}
		if escaped {
			b.at++
		}
	}
	rest := strings.TrimLeft(b.text[min(b.at+1, len(b.text)):], " \t")
	if rest != "" && strings.IndexByte("\n,]}:#", rest[0]) < 0 {
		b.say(b.began, "put the whole value in quotes: it goes on after the closing one")
	}
}

func (b *braces) bracket() {
	switch {
	case len(b.open) > 0 && b.began >= 0 && strings.Contains(b.text[b.began:b.at], "\n"):
		b.runsOn()
	case len(b.open) > 0 && b.began >= 0:
		b.say(b.began, "quote a value that contains { or [, in braces")
	case b.began < 0: // else inside a word, outside of braces
		b.open = append(b.open, b.at)
		b.began, b.colons = -1, 0
	}
}

func (b *braces) close(char byte) {
	opened := b.text[b.open[len(b.open)-1]]
	if opened == '{' && char == ']' || opened == '[' && char == '}' {
		b.say(b.at, "the "+string(char)+" closes nothing: a "+string(opened)+" is open")
		return
	}
	b.open = b.open[:len(b.open)-1]
	b.began, b.colons, b.ended = b.at, 1, true
	if len(b.open) == 0 {
		b.at = len(b.text) // what follows is another map
	}
}

func (b *braces) colon() {
	if b.colons++; b.colons > 1 {
		if b.began >= 0 && strings.Contains(b.text[b.began:b.at], "\n") {
			b.runsOn()
			return
		}
		b.say(max(b.began, 0), "quote a value that contains `: `")
	}
	b.began = -1
}

// operator returns the operator that begins with the ? under way.
func (b *braces) operator() string {
	for _, each := range []string{"??", "?."} {
		if strings.HasPrefix(b.text[b.at:], each) {
			return each
		}
	}
	return "?"
}

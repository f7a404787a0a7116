package service

import (
	"encoding/json"
	"slices"
	"strings"

	"savant/internal/pattern"
)

// mark is a tag that models write around a part of their answer: <think>, [/THINK],
// ◁think▷, <|START_THINKING|>.
type mark struct {
	start, end int
	// bracket is its first letter; name is in lower case and without begin, start or end.
	bracket, name string
	closing       bool
	// token: a bar stands within its brackets, as in the marks that are tokens of a model.
	token bool
}

var (
	marks = pattern.Lazy(`([<\[◁⟨【]|\{\{)([|｜]?)(/?)\s*(\p{L}[\p{L}\p{N}_:.▁-]*)([^<>\[\]◁▷⟨⟩【】\n]*?)([|｜]?)(?:[>\]▷⟩】]|\}\})`)
	// markEdge matches the parts of a mark's name that tell its two ends apart.
	markEdge = pattern.Lazy(`^(?:begin|start|end)(?:_of)?_|_(?:begin|start|end|prefix|suffix)$`)
	// thoughtName matches the names of marks around thoughts, even of those that lack one end.
	thoughtName = pattern.Lazy(`think|thought|reason|reflect|analysis|scratch|monolog|ponder|deliberat`)
	// spokenName matches the names of marks around what is said and called.
	spokenName = pattern.Lazy(`answer|final|output|respon|result|tool|func|call|invoke|param|arg|json|action|quote|code`)
)

// elements are those of HTML, which a text may begin with.
const elements = `a abbr acronym address applet area article aside audio b base bdi bdo big blink blockquote body br button
canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption
figure font footer form frame frameset h head header hgroup hr html i iframe img input ins kbd label legend li
link main map mark marquee math menu meta meter nav noframes noscript object ol optgroup option output p param picture pre
progress q rp rt ruby s samp script search section select slot small source span strike strong style sub summary sup svg table
tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xml url list size color center`

// marksIn returns the marks of a text.
func marksIn(text string) []mark {
	var found []mark
	for _, at := range marks().FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string { return text[at[2*i]:at[2*i+1]] }
		name := strings.ReplaceAll(strings.ToLower(part(4)), "▁", "_")
		edge := markEdge().FindString(name)
		numbered := strings.TrimRight(name, "0123456789") // <unused94> ends with <unused95>
		closing := part(3) != "" || strings.Contains(edge, "end") || name == "end" && part(2) != "" || edge == "_suffix" || part(2) == "" && part(6) != "" ||
			numbered != name && slices.ContainsFunc(found, func(m mark) bool { return m.name == numbered })
		found = append(found, mark{start: at[0], end: at[1], bracket: part(1), name: strings.Replace(numbered, edge, "", 1), closing: closing, token: part(2) != ""})
	}
	return found
}

// thought: the mark's name says that it is at an end of a thought.
func (m mark) thought() bool { return thoughtName().MatchString(m.name) }

// encloses reports whether the mark may begin a thought: one that is not named for what is
// said and, in free text, no element of HTML.
func (m mark) encloses(free bool) bool {
	_, name, _ := strings.Cut(":"+m.name, ":")
	return !m.closing && (m.thought() || !(free && slices.Contains(strings.Fields(elements), name)) && !spokenName().MatchString(m.name))
}

// closes reports whether the mark ends what another one begins.
func (m mark) closes(opening mark) bool {
	return m.closing && m.bracket == opening.bracket && (m.name == opening.name || (m.thought() || m.name == "end" && opening.token) && opening.thought())
}

// withoutThoughts removes thoughts, so that what a model merely considered is neither
// done nor taken for its answer: channels of analysis, leading blocks between two
// marks, and blocks of marks named for thoughts, one of which may be missing. Free text
// may itself be about such marks: there a block counts at the beginning only. A text
// that is one object is unchanged.
func withoutThoughts(text string, free bool) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") && closing(text, 0).end == len(text) {
		return text
	}
	text = withoutLeading(withoutEnd(finalChannel(text)), free)
	if free {
		text = withoutLoneEnd(text)
		if found := marksIn(text); len(found) > 0 && found[0].start == 0 && found[0].token && !found[0].closing {
			text = strings.TrimSpace(text[found[0].end:]) // its end is cut already
		}
		return text
	}
	return withoutNamed(text)
}

// maxThoughts is how much of the end of thoughts is read, in bytes.
const maxThoughts = 64 << 10

// conclusion returns what thoughts end with if it is JSON that stands by itself, and before it
// what else does, so that two actions are told apart; else "". What stands in a sentence was
// only considered.
func conclusion(thoughts string) string {
	thoughts = strings.TrimSpace(thoughts[max(0, len(thoughts)-maxThoughts):])
	if json.Valid([]byte(thoughts)) {
		return thoughts
	}
	if calls := callsAtEnd(thoughts); calls != "" {
		return calls
	}
	parts := spans(thoughts, true)
	for len(parts) == maxTries {
		thoughts = thoughts[parts[maxTries-1].end:]
		parts = spans(thoughts, true)
	}
	if len(parts) == 0 || !beside().MatchString(thoughts[parts[len(parts)-1].end:]) {
		return ""
	}
	alone, ends := "", false
	for _, each := range parts {
		if ends = each.alone; ends {
			alone += thoughts[each.start:each.end] + "\n"
		}
	}
	if !ends {
		return ""
	}
	return alone
}

// callsAtEnd returns the calls between their marks that a text ends with, or "". Marks that
// are no tokens begin a line: a sentence may only speak of them.
func callsAtEnd(text string) string {
	found := marksIn(text)
	for i, each := range slices.Backward(found) {
		last := found[len(found)-1]
		if last.end < len(text) || !strings.Contains(last.name, "call") {
			break
		}
		line := text[strings.LastIndexByte(text[:each.start], '\n')+1 : each.start]
		if i < len(found)-1 && !each.closing && last.closes(each) && (each.token || strings.TrimSpace(line) == "") {
			return text[each.start:]
		}
	}
	return ""
}

// withoutLeading removes the blocks at the beginning of a text. One that is not named for
// thoughts needs its closing mark and something behind it that is no such block; in free
// text one that holds another mark first is a document.
func withoutLeading(text string, free bool) string {
	opening, known := leadingMark(text, free)
	if !known {
		return text
	}
	rest, closed := "", false
	for _, each := range marksIn(text) {
		if closed = each.closes(opening); closed {
			rest = withoutLeading(strings.TrimSpace(text[each.end:]), free)
			break
		}
	}
	if closed && opening.thought() {
		rest = started().ReplaceAllString(withoutFrame(rest), "")
	}
	_, another := leadingMark(rest, free)
	_, markup := leadingMark(strings.TrimSpace(text[opening.end:]), free)
	if opening.thought() || closed && rest != "" && !another && !(free && markup) {
		return rest
	}
	return text
}

// withoutFrame removes what stands around the answer behind a thought: its closing mark
// once more, and the mark of an answer.
func withoutFrame(text string) string {
	found := marksIn(text)
	if len(found) == 0 || found[0].start > 0 || !(found[0].thought() && found[0].closing) && found[0].name != "answer" {
		return text
	}
	if last := found[len(found)-1]; len(found) > 1 && last.closes(found[0]) && last.end == len(text) {
		text = text[:last.start]
	}
	return strings.TrimSpace(text[found[0].end:])
}

// leadingMark returns the mark at the beginning of a text that may begin a thought.
func leadingMark(text string, free bool) (mark, bool) {
	found := marksIn(text)
	if len(found) == 0 || found[0].start > 0 || !found[0].encloses(free) {
		return mark{}, false
	}
	return found[0], true
}

// withoutNamed removes the blocks named for thoughts anywhere but inside an object. The
// end is missing in a truncated text, the beginning if the prompt contained it.
func withoutNamed(text string) string {
	var out strings.Builder
	inside := spans(text, false)
	from, open := 0, false
	for _, each := range marksIn(text) {
		for len(inside) > 0 && inside[0].end <= each.start {
			inside = inside[1:]
		}
		if !each.thought() || len(inside) > 0 && inside[0].start < each.start && !open && !each.closing {
			continue
		}
		switch {
		case each.closing:
			if !open {
				out.Reset()
			}
			from, open = each.end, false
		case !open:
			out.WriteString(text[from:each.start])
			open = true
		}
	}
	if !open {
		out.WriteString(text[from:])
	}
	return strings.TrimSpace(out.String())
}

// loneEnd matches what surrounds the closing mark of thoughts, as against one that a
// sentence mentions.
var (
	beforeLoneEnd = pattern.Lazy("[^\"'`\\s]$|[.?!…]\\s+$|\\n\\s*$")
	afterLoneEnd  = pattern.Lazy("^\\s*\\n|^\\s*[^\"'`\\s,.;:!?)]")
)

// withoutLoneEnd removes thoughts whose beginning is missing.
func withoutLoneEnd(text string) string {
	for _, each := range marksIn(text) {
		if !each.thought() {
			continue
		}
		if before, after := text[:each.start], text[each.end:]; each.closing && beforeLoneEnd().MatchString(before) && afterLoneEnd().MatchString(after) {
			return strings.TrimSpace(after)
		}
		break
	}
	return text
}

var (
	// ends matches tokens that end a turn, and the turns that a model then makes up.
	ends    = pattern.Lazy(`(?is)(?:\s*(?:<[|｜][\p{L}\p{N}_▁]+[|｜]>|</s>|<(?:eo[a-z]|end_of_[a-z]+)>))+\s*$`)
	madeUp  = pattern.Lazy(`(?is)(?:<[|｜][^|｜<>]*[|｜]>|</s>|<(?:eo[a-z]|end_of_[a-z]+)>)\s*(?:<[|｜][^|｜<>]*(?:im_start|start_header|user|system)[^|｜<>]*[|｜]>|<start_of_turn>|(?:<s>\s*)?\[INST\]).*$`)
	started = pattern.Lazy(`^(?:<bos>\s*|<\|(?:im_start|begin)\|>assistant(?:<\|content\|>)?\s*)+`)
)

// withoutEnd removes the tokens around a turn.
func withoutEnd(text string) string {
	text = strings.TrimSpace(madeUp().ReplaceAllString(text, ""))
	if at := ends().FindStringIndex(text); at != nil && (!strings.Contains(text, "<s>") || !strings.Contains(text[at[0]:], "</s>")) {
		text = text[:at[0]]
	}
	return strings.TrimSpace(started().ReplaceAllString(text, ""))
}

var (
	// channelled matches a text in channels, which may lack its first mark or all of them.
	channelled = pattern.Lazy(`(?s)^\s*(?:<\|start\|>[^<]*)?<\|channel\|>|<\|start\|>[^<]*<\|channel\|>`)
	// bare matches thoughts without marks: harmony's, Granite's, those of Ollama's program, a fence.
	bare = pattern.Lazy("(?is)^(?:<\\|im_start\\|>(?:think|thought|reason)\\w*\n.*<\\|im_start\\|>\\w+\n|(?:analysis|commentary).*assistant(?:final|commentary to=)|here(?:'s| is) my thought process:.*?here(?:'s| is) my response:|" +
		"thinking\\.{3}\n.*?\n\\.{3}done thinking\\.|(?:`{3,}|~{3,})(?:think|thought|reason)\\w*\n.*?\n(?:`{3,}|~{3,})\n)\\s*")
	channel    = pattern.Lazy(`(?:<\|start\|>[^<]*)?<\|channel\|>([^<]*(?:<\|constrain\|>[^<]*)?)<\|message\|>`)
	messageEnd = pattern.Lazy(`<\|(?:end|return|call|start)\|>`)
	recipient  = pattern.Lazy(`to=[^\s<]+`)
)

// finalChannel returns what a text in channels says: the last final message, and the
// calls, each behind its name. Any other text is unchanged.
func finalChannel(text string) string {
	if !channelled().MatchString(text) {
		return bare().ReplaceAllString(text, "")
	}
	var calls []string
	final, known := "", false
	heads := channel().FindAllStringSubmatchIndex(text, -1)
	for i, at := range heads {
		next := len(text)
		if i+1 < len(heads) {
			next = heads[i+1][0]
		}
		message, behind := text[at[1]:next], ""
		if end := messageEnd().FindStringIndex(message); end != nil {
			message, behind = message[:end[0]], message[end[1]:]
		}
		if to := recipient().FindString(text[at[0]:at[1]]); to != "" {
			calls = append(calls, to+" "+message)
		} else if strings.HasPrefix(strings.TrimSpace(text[at[2]:at[3]]), "final") {
			final, known = message, true
		}
		if behind = strings.TrimSpace(behind); behind != "" && !known {
			final = behind
		}
	}
	return strings.TrimSpace(strings.Join(append(calls, final), "\n"))
}

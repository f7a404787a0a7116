package adopt

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"savant/internal/pattern"
)

// letters counts in letters: b, c … z, bb, bc …
func letters(number int) string {
	const count = 25
	text := string(rune('b' + (number-1)%count))
	if number > count {
		return letters((number-1)/count) + text
	}
	return text
}

// fillers are words that say nothing in a name.
var fillers = map[string]bool{"the": true, "a": true, "an": true, "of": true, "to": true, "and": true, "in": true, "for": true, "with": true, "your": true, "that": true, "is": true, "are": true, "on": true, "it": true, "all": true, "any": true}

// reserved are names that steps and captures cannot have.
var reserved = map[string]bool{"state": true, "params": true, "steps": true, "run": true, "loop": true, "result": true, "item": true, "true": true, "false": true, "nil": true, "null": true, "not": true, "in": true, "let": true, "if": true, "else": true, "matches": true, "contains": true, "start": true}

// identifier makes an id of a text: its first words in small letters, joined by _.
func identifier(text, otherwise string, most int) string {
	var words []string
	length := 0
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, word := range all {
		if len(all) > 3 && fillers[word] {
			continue
		}
		if length += len(word) + 1; length > most && len(words) > 0 || len(words) == 5 {
			break
		}
		words = append(words, word[:min(len(word), most)])
	}
	made := strings.Join(words, "_")
	switch {
	case made == "":
		return otherwise
	case made[0] < 'a', reserved[made]:
		made = otherwise + "_" + made
	}
	return made[:min(len(made), most)]
}

// abbreviations end in a point that ends no sentence.
var abbreviations = []string{"e.g.", "i.e.", "etc.", "vs.", "approx.", "no.", "fig.", "dr.", "mr.", "ms.", "st."}

// sentences splits prose into its sentences.
func sentences(text string) (found []string) {
	text = strings.Join(strings.Fields(text), " ")
	start := 0
	code := false
	for i, r := range text {
		if r == '`' {
			code = !code
		}
		if code || r != '.' && r != '!' && r != '?' {
			continue
		}
		rest := text[i+1:]
		if rest != "" && rest[0] != ' ' || rest == "" && start == i {
			continue
		}
		last := strings.ToLower(text[max(start, strings.LastIndexByte(text[:i], ' ')+1) : i+1])
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(rest, " "))
		if rest != "" && (slices.Contains(abbreviations, last) || unicode.IsLower(next)) {
			continue
		}
		found = append(found, strings.TrimSpace(text[start:i+1]))
		start = i + 1
	}
	if rest := strings.TrimSpace(text[start:]); rest != "" {
		found = append(found, rest)
	}
	return found
}

// mark stands between an answer and what follows from it.
const mark = `(?:,? then\b[,:]?|[,:]| →| ->| =>| —| –| -)`

// people are those who can be asked.
const people = `\b(?:user|human|person|customer|owner|maintainer|reviewer|team lead)s?\b`

var (
	// approval is a sentence that has a person asked first: it wants a consent, or names a
	// person who is asked or agrees, and an order.
	approval = pattern.Lazy(`(?i)\b(?:ask|get|obtain|reach|receive|await|wait for|require|request|seek|need|without|until)(?:s|ing)?\b[^.]{0,80}\b(?:approvals?|permission|confirmation|consent|sign-?offs?|go-?ahead|ok|okay|(?:explicit|clear) (?:\pL+ )?\W?yes)\b|\b(?:after|on|upon|with) (?:(?:the|an?|your|their|explicit|clear|written|` + people + `)(?:'s)? ){0,3}\W?(?:approval|consent|permission|sign-?off|yes)\b|\b(?:after|upon) (?:(?:explicit|` + people + `) ){1,2}confirmation\b|\b(?:have|let) (?:an? |the |another )?` + people + `[^.,;:]{0,40} (?:approve|authori[sz]e|confirm|agree|accept|review|sign|check)\b|\b(?:unless|until|once|only (?:when|if|after|once)) (?:(?:it|they|explicitly|is|are|was|been|has|have) ){0,3}(?:approved|authori[sz]ed|signed off)\b|\bwait (?:for|on|until)\b[^.]{0,20}` + people + `|\bask\b[^.]{0,60}\bbefore\b|^\W*ask first\b|\bwithout (?:first )?asking\b|\b(?:approval|confirmation|permission|consent|sign-?off)s? (?:is |are )?(?:required|needed|mandatory)\b`)
	asking   = pattern.Lazy(`(?i)\b(?:ask|confirm|check|verify)\b[^.]{0,60}` + people + `|(?:` + people + `|\bI\b)[^.,;:]{0,40} (?:approve|authori[sz]e|confirm|agree|consent|sign|accept)`)
	// unasked is a clause by which nobody is asked.
	unasked = pattern.Lazy(`(?i)\b(?:not|don't|never)\s+(?:(?:to|ever|then|again|need|have)\s+)*(?:ask|wait|request|require|seek|confirm)\b[^.;]*|\bno (?:\pL+ )?(?:approval|confirmation|permission|consent|sign-?off)s?\b[^.;]*`)
	order   = pattern.Lazy(`(?i)\b(?:before|first|prior to|until|unless|once|after|only)\b`)
	// question has a person asked what the model is to know, whatever comes of it.
	question = pattern.Lazy(`(?i)^\W*(?:[^:.?]{1,60}: )?(?:(?:then|first|next|always|please|and|else|otherwise),? )*ask (?:the |a |your )?` + people + `(?:.{0,80}:$| (?:for|about|to|wh\pL+|how|(?:if|whether) (?:they|he|she)\b)|\W*$)|^\W*(?:(?:then|first|next|always),? )*ask(?:(?: (?:in|for|with|one|each|all|them|him|her|first)\b[^.:]{0,50})?:(?:$|\W)| (?:which|what|whether|how|where|who)\b)`)
	// duty is a sentence that must hold; a wait, an order and what has to be verified hold, too.
	duty = pattern.Lazy(`^\W*NOT\b|\b(?:REQUIRED|SHALL|MANDATORY|CRITICAL|IMPORTANT)\b|(?i:\b(?:must|never|shall|may not|should not|required to|require|you cannot|(?:may|can|should) only|only (?:after|once|by)|(?:should|to|please) always|(?:is|are) (?:required|mandatory|forbidden|prohibited|(?:not|never) (?:allowed|permitted|acceptable))|make sure|ensure that|before any(?:thing)?)\b|[—–:()] ?required\b(?:\W*$|[^\s\w]| (?:for|when|if|by|unless|before)\b)|^\W*(?:(?:when to )?(?:stop|refuse)\b|avoid\b|no [^.]{3,60} without\b|(?:every|each|all|any|\pL+ing)\b[^.,;:]{1,80}\brequires\b|(?:before|prior to) [^,:]{3,100}[,:]["”')]* \pL|(?:this|the) (?:skill|agent|workflow|procedure|runbook|role) (?:\pL+ly )?(?:does|do) not\b)|\bnot:\W*$|\bcannot\b[^.;]*\b(?:without|until|unless|before)\b|\b(?:verify|confirm|check|inspect|ensure|validate)\b.{3,100}\b(?:before|first)\b|(?:^\W*|[:;,—–]\W+|\b(?:and|then|first|next|finally|now|please),? )(?:ensure|verify|confirm|check that|wait (?:for|until))\b|^\W*(?:important|critical|mandatory)\b\W*:|^\W*(?:\pL+ )?(?:rules?|policy|constraint|requirement|invariant)\b[^.:]{0,60}: |.\b(?:before|prior to) \pL+ing\b|^\W*ask\b[^.]{0,40}\b(?:one|at most|a single)\b|\bnot (?:complete|done|finished|ready) until\b)`)
	// told is what demands something in an order, and says what is so where a clause tells;
	// clause is what a clause ends with.
	told   = pattern.Lazy(`(?i)(?:^|[^-\w])(always|only|do not|don't)\b`)
	clause = pattern.Lazy(`(?i)[.,;:!?()—–]|\b(?:and|but|so|then|or)\b`)
	// aside is what demands nothing in a sentence: the condition above it, and what others may need.
	aside = pattern.Lazy(`(?i)^\W*(?:if|when|where|whenever|in case) (?:[^t]|t[^o])[^,:;.]*[,:]|\b(?:that|which|who|may|might|not|n't|longer) (?:be )?requires?d?\b|\b(?:that|which|who|they|you) (?:do not|don't)[^:\w]|\b(?:second|minute|hour|day|week|month)s? before\b`)
	// bound ends an order; telling is before it where a sentence tells what is so.
	bound   = pattern.Lazy(`(?i)\b(?:until|unless|before|prior to)\b`)
	telling = pattern.Lazy(`(?i)(?:^|[.;:—–] )\W*(?:the|an?|this|that|these|those|its?|they|their|we|our|you|your|he|she|i|my|there|here|some|many|most|nothing|everything|who|what)\b|\b(?:is|are|was|were|will|would|has|have|had|can|could|may|might|does|did)\b`)
	// condition is if … then … else in its usual forms.
	condition = pattern.Lazy(`(?i)^(?:if|when|in case|where) (.{3,200}?)(?:, then |,? then:? |: |, | — | - |\s→\s)(.+)$`)
	// ending is a condition before an arrow that leads to an end.
	ending = pattern.Lazy(`(?i)^([^:→]{3,80}?) (?:→|->|=>) ((?:stop|abort|halt|fail|exit|escalate|refuse|reject)\b.*)$`)
	// stops is a consequence that ends all.
	stops = pattern.Lazy(`(?i)^(?:please )?(?:(?:stop|abort|halt|exit)(?:\W*$|[,;:.]| (?:and|here|now|immediately|the (?:run|procedure|process|workflow))\b)|do not (?:proceed|continue|go on)\b)`)
	// otherwise begins the other branch, "else" also without a mark before it, behind a word.
	otherwise = pattern.Lazy(`(?i)(?:(?:^|[.;,] +)(?:(?:otherwise|else)[,:]?|if (not|no|so|yes)` + mark + `)|(\pL+) +else) +`)
	// query is a question with what follows from an answer.
	query = pattern.Lazy(`(?i)^([^?]{3,200}\?) if (not|no|so|yes)` + mark + ` (.+)$`)
	// inquiry is "check whether …" with what follows from it.
	inquiry = pattern.Lazy(`(?i)^(?:first,? |then,? )?(?:verify|check|confirm|determine|see|ensure|make sure)(?: that| if| whether)? ([^.]{3,200}[.;]) (?:(if (?:so|yes)[,:])|if (?:not|no)[,:]|(?:otherwise|else)\b[,:]?) (.+)$`)
	// opens is a condition whose branch stands below it, otherHead the head of the other one.
	opens     = pattern.Lazy(`(?i)^(?:if|in case) (.{3,200}?):$`)
	otherHead = pattern.Lazy(`(?i)^(?:otherwise|else|if not|if no):$`)
	// aftermath is what a condition has for a consequence where it tells what is so.
	aftermath = pattern.Lazy(`(?i)^(?:there|it|that|this|they|these)(?:['’]s|['’]re| is| are| was| will| would| does| has| means)\b|^you(?:['’](?:ll|re)| will| would| may| might| can| are)\b`)
	// subject begins a consequence that tells what somebody or something does, without a demand.
	subject = pattern.Lazy(`(?i)^(?:the|an?|its|their) `)
	demand  = pattern.Lazy(`(?i)\b(?:must|shall|should|ha(?:s|ve) to|needs?(?: to)?|stops?|ends?|fails?)\b`)
	// elsewhere ends words behind which "else" begins no branch, as in "anything else".
	elsewhere = pattern.Lazy(`(?i)(?:thing|one|body|where|who|what|how|when|why|or|much|little)$`)
	// otherBranch is a sentence that is about the one before it.
	otherBranch = pattern.Lazy(`(?i)^(?:(?:otherwise|else)\b|if (?:not|no|so|yes)` + mark + `)`)
	// forbidden is a sentence that forbids commands of two words or more, in backticks, and
	// lets says where it does not: then no rule can.
	forbidden = pattern.Lazy("(?i)\\b(?:never|must not|do not|don't|shall not|may not)\\s+(?:(?:ever|run|use|execute|call|invoke|issue|type|do|try|the|a|an|any|command)\\s+){0,3}((?:`[a-z][a-z0-9_.-]* [^`]{1,120}`(?:,? (?:or|and|nor) |, )?)+)(?:[.,;:!?)]|\\s+[(—–-]|\\s*$)")
	lets      = pattern.Lazy("(?i)^\\W*(?:unless|except|if|when|without|until|in|on|to|from|while)\\b|^\\W*(?:(?:or|and|nor) )?`")
	// numbered is a heading that is a step of its own, refused one above what shall not be, and
	// ruled one above what shall.
	numbered = pattern.Lazy(`(?i)^(?:(?:step|task|phase) )?\d+\pL?[.):] `)
	refused  = pattern.Lazy(`(?i)\b(?:red flags?|out of scope|anti-?patterns?|not to do|don'?ts|never|must not|do not|prohibited|forbidden)\b`)
	ruled    = pattern.Lazy(`(?i)\b(?:rules|constraints|guardrails|invariants|boundaries|non-negotiables?)\W*$`)
	tag      = pattern.Lazy(`(?s)<!--.*?-->|</?[a-zA-Z][^<>]*>`)
)

// meaning is what a sentence holds.
type meaning int

// The meanings, the first that fits.
const (
	plain meaning = iota
	forbids
	approves
	opensBranch
	opensOther
	decides
	asks
	obliges
)

// branches are the parts of a conditional sentence.
type branches struct{ question, yes, no string }

// meaningOf reads a sentence without its signs of emphasis: what it holds, the commands that
// it forbids or the condition that opens a branch, and the parts of a conditional one.
func meaningOf(words string) (is meaning, about string, parts branches) {
	words = strings.ReplaceAll(words, "**", "")
	if at := forbidden().FindStringSubmatchIndex(words); at != nil && !lets().MatchString(words[at[1]:]) {
		return forbids, words[at[2]:at[3]], parts
	}
	if asked := unasked().ReplaceAllString(words, ""); approval().MatchString(asked) || asking().MatchString(asked) && order().MatchString(asked) {
		return approves, "", parts
	}
	if found := opens().FindStringSubmatch(words); found != nil {
		return opensBranch, found[1], parts
	}
	if otherHead().MatchString(words) {
		return opensOther, "", parts
	}
	if parts, conditional := conditional(words); conditional {
		return decides, "", parts
	}
	if question().MatchString(words) {
		return asks, "", parts
	}
	words = aside().ReplaceAllString(words, "")
	if at := bound().FindStringIndex(words); duty().MatchString(words) || orders(words) || at != nil && !telling().MatchString(words[:at[0]]) {
		return obliges, "", parts
	}
	return plain, "", parts
}

// orders reports whether a sentence has a word of told in a clause that tells nothing.
func orders(words string) bool {
	return slices.ContainsFunc(told().FindAllStringSubmatchIndex(words, -1), func(at []int) bool {
		begin := 0
		if ends := clause().FindAllStringIndex(words[:at[2]], -1); ends != nil {
			begin = ends[len(ends)-1][1]
		}
		return !telling().MatchString(words[begin:at[2]])
	})
}

// conditional reads "if … then … else …".
func conditional(text string) (branches, bool) {
	text = strings.TrimSpace(text)
	if found := inquiry().FindStringSubmatch(text); found != nil && found[2] == "" {
		return branches{question: strings.TrimRight(found[1], ".;"), no: found[3]}, true
	} else if found != nil {
		text = "If " + strings.TrimRight(found[1], ".;") + ", then " + found[3]
	}
	if found := query().FindStringSubmatch(text); found != nil {
		return branchesOf(found[1], found[2], found[3])
	}
	text = ending().ReplaceAllString(text, "If $1, then $2")
	found := condition().FindStringSubmatch(text)
	if found == nil || otherBranch().MatchString(text) || strings.HasPrefix(found[1], "to ") || aftermath().MatchString(found[2]) || subject().MatchString(found[2]) && !demand().MatchString(found[2]) {
		return branches{}, false
	}
	return branchesOf(found[1], "yes", found[2])
}

// branchesOf reads what follows from an answer to a question, and from the other one.
func branchesOf(question, answer, text string) (branches, bool) {
	one, other := strings.TrimSpace(text), ""
	affirmed := affirms(answer)
	for _, at := range otherwise().FindAllStringSubmatchIndex(one, -1) {
		end := at[0]
		if bare := at[5]; bare >= 0 {
			end = bare
			if elsewhere().MatchString(one[at[4]:bare]) {
				continue
			}
		}
		if end > 0 && (at[2] < 0 || affirms(one[at[2]:at[3]]) != affirmed) {
			one, other = strings.TrimRight(strings.TrimSpace(one[:end]), ".;,")+".", strings.TrimSpace(one[at[1]:])
			break
		}
	}
	b := branches{question: strings.TrimSpace(question), yes: one, no: other}
	if !affirmed {
		b.yes, b.no = other, one
	}
	return b, strings.TrimSpace(one) != ""
}

// affirms reports whether an answer is yes.
func affirms(answer string) bool {
	return strings.EqualFold(answer, "yes") || strings.EqualFold(answer, "so")
}

// untagged takes the tags and comments of HTML away.
func untagged(text string) string { return tag().ReplaceAllString(text, " ") }

func isConditional(text string) bool {
	_, is := conditional(text)
	return is
}

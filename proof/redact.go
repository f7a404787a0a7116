package proof

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
)

// A placeholder stands in the place of a value: "redacted:" and the SHA-256 of a random
// salt and the value's JSON. Equal values have equal placeholders, so records still name
// the ones before them. From the first redacted record on, everything that a value could
// be guessed from goes with it: replies, hashes of records and states, digests.
const placeholderPrefix = "redacted:"

var (
	placeholderPattern = pattern.Lazy(`^redacted:[0-9a-f]{64}$`)
	hiddenPattern      = pattern.Lazy(`"redacted:[0-9a-f]{64}"`)
)

func isPlaceholder(text string) bool { return placeholderPattern().MatchString(text) }

// headFields and dataFields are the members of a record that may be redacted. Others are
// what the claims are made of.
var (
	headFields = []string{"prev", "hash", "state"}
	dataFields = []string{"params", "result", "reply", "warnings", "shown", "digest", "value", "result_ref", "reason", "input"}
)

// digestSalted is the kind of the run's digest where its head is redacted.
const digestSalted = "saltedSha256"

func (s *Statement) isRedacted() bool { return s.Predicate.Run.Whole < len(s.Predicate.Records) }

// redactions checks that from the first redacted record on only what may be redacted is,
// and no hash is shown.
func (v *verifier) redactions() *Reason {
	p := &v.statement.Predicate
	for i := p.Run.Whole; i < len(p.Records); i++ {
		if !isPlaceholder(v.statement.entries[i].Hash) {
			return refuse(BadRedaction, "record %d follows a redacted one and shows a hash", i+1)
		}
		if hidesFixed(p.Records[i]) {
			return refuse(BadRedaction, "record %d hides what a claim is made of", i+1)
		}
	}
	return nil
}

// hidesFixed reports whether a placeholder stands where none may, however it is spelled.
func hidesFixed(line string) bool {
	var record, data map[string]any
	if json.Unmarshal([]byte(line), &record) != nil {
		return true
	}
	data, _ = record["data"].(map[string]any) // null has no members
	maps.DeleteFunc(data, func(name string, _ any) bool { return slices.Contains(dataFields, name) })
	maps.DeleteFunc(record, func(name string, _ any) bool { return slices.Contains(headFields, name) })
	text, err := jsonvalue.Encode(record)
	return err != nil || hiddenPattern().Match(text)
}

// Disclosure is what a placeholder stands for. Whoever has it can check the value.
type Disclosure struct {
	Placeholder string `json:"placeholder"`
	Salt        string `json:"salt"`
	// JSON is the value, as the record has it.
	JSON string `json:"json"`
}

// Holds reports whether the value is the one that the placeholder stands for.
func (d Disclosure) Holds() bool { return placeholder(d.Salt, d.JSON) == d.Placeholder }

func placeholder(salt, text string) string {
	return placeholderPrefix + jsonvalue.HexSum([]byte(salt+text))
}

// Redact replaces values of a statement, and returns what it replaced. A rule is the field
// of a step's result, "step.field", or else a regular expression for texts.
// INVALID_PARAMS if a rule finds nothing, or a workflow itself has what it finds.
func Redact(statement *Statement, rules []string) ([]Disclosure, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	r := redactor{statement: statement, long: statement.Predicate.texts(), first: math.MaxInt, known: map[string]string{}}
	for _, rule := range rules {
		if err := r.search(rule); err != nil {
			return nil, err
		}
	}
	err := r.replace()
	return r.hidden, err
}

// redactor replaces values of one statement.
type redactor struct {
	statement *Statement
	long      map[string]string // the texts of the proof by digest
	patterns  []*regexp.Regexp
	fields    []fieldRule
	first     int
	known     map[string]string // placeholders by the JSON that they stand for
	hidden    []Disclosure
}

// fieldRule is a field of the results of a step.
type fieldRule struct {
	step string
	path []string
}

// search adds a rule, and notes where it first finds something.
func (r *redactor) search(rule string) error {
	before := r.first
	step, field, dotted := strings.Cut(rule, ".")
	isStep := slices.ContainsFunc(r.statement.Predicate.Claims, func(each Claim) bool { return each.Step == step })
	if dotted && isStep {
		r.fields = append(r.fields, fieldRule{step, append([]string{"result"}, strings.Split(field, ".")...)})
	} else {
		compiled, err := regexp.Compile(rule)
		if err != nil || compiled.MatchString("") {
			return fault.New(fault.InvalidParams, "--redact %q: expected STEP.FIELD of a step of the run, or a regular expression that does not fit the empty text", fault.Cut(rule, 80))
		}
		r.patterns = append(r.patterns, compiled)
	}
	found := false
	for i, line := range r.statement.Predicate.Records {
		if len(r.spans(line, "reply")) > 0 || r.longMatches(i) {
			found, r.first = true, min(r.first, i)
			break
		}
	}
	if !found && before == r.first {
		return fault.New(fault.InvalidParams, "--redact %q finds nothing in the records of the run", fault.Cut(rule, 80))
	}
	return nil
}

// span is a value in a line.
type span struct {
	at  int
	raw string
}

// spans returns the values of a record that the rules name, in its data and a further
// member of that. A text of a redacted field is a pattern for all later records.
func (r *redactor) spans(line, further string) (found []span) {
	root, err := jsonvalue.Read([]byte(line))
	if err != nil {
		return nil
	}
	data := root.Lookup("/data")
	step := jsonvalue.Text(data.Lookup("/step").Raw)
	for _, rule := range r.fields {
		if value, ok := valueAt(data, rule.path); ok && rule.step == step {
			found = append(found, span{value.Offset, string(value.Raw)})
			r.learn(value)
		}
	}
	for _, member := range data.Members {
		switch member.Name {
		case "params", "result", "warnings", "reason", further:
			r.texts(member.Value, &found)
		}
	}
	return found
}

// valueAt returns the value at a path of names.
func valueAt(node jsonvalue.Node, path []string) (found jsonvalue.Node, ok bool) {
	for _, name := range path {
		at := slices.IndexFunc(node.Members, func(each jsonvalue.NodeMember) bool { return each.Name == name })
		if at < 0 {
			return node, false
		}
		node = node.Members[at].Value
	}
	return node, true
}

// learn makes the texts of a redacted value patterns.
func (r *redactor) learn(value jsonvalue.Node) {
	if text := jsonvalue.Text(value.Raw); len(text) >= 4 {
		literal := regexp.MustCompile(regexp.QuoteMeta(text))
		if !slices.ContainsFunc(r.patterns, func(known *regexp.Regexp) bool { return known.String() == literal.String() }) {
			r.patterns = append(r.patterns, literal)
		}
	}
	for _, each := range value.Members {
		r.learn(each.Value)
	}
	for _, each := range value.Items {
		r.learn(each)
	}
}

// texts adds the texts in a value that a pattern fits, names of members too.
func (r *redactor) texts(value jsonvalue.Node, found *[]span) {
	if len(value.Raw) > 0 && value.Raw[0] == '"' && r.matches(jsonvalue.Text(value.Raw)) {
		*found = append(*found, span{value.Offset, string(value.Raw)})
	}
	for _, each := range value.Members {
		if r.matches(each.Name) {
			if name, err := jsonvalue.Encode(each.Name); err == nil {
				*found = append(*found, span{each.Offset, string(name)})
			}
		}
		r.texts(each.Value, found)
	}
	for _, each := range value.Items {
		r.texts(each, found)
	}
}

func (r *redactor) matches(text string) bool {
	return slices.ContainsFunc(r.patterns, func(each *regexp.Regexp) bool { return each.MatchString(text) })
}

// longMatches reports whether the long result of a record has what a pattern fits.
func (r *redactor) longMatches(i int) bool {
	ref := r.statement.entries[i].ResultRef
	return ref != "" && r.matches(r.long[ref])
}

// replace writes the placeholders.
func (r *redactor) replace() error {
	p, entries := &r.statement.Predicate, r.statement.entries
	for name, pin := range entries[0].Pins {
		if r.matches(r.long[pin.Digest]) {
			return fault.New(fault.InvalidParams, "--redact fits the workflow %q, which a proof shows whole", name)
		}
	}
	if r.matches(r.long[entries[0].Schemas]) {
		return fault.New(fault.InvalidParams, "--redact fits the schemas of the run, which a proof shows whole")
	}
	digests := map[string]string{} // by receipt
	for i := range p.Records {
		if i >= r.first {
			p.Records[i] = r.line(i)
			entries[i], _ = readEntry(p.Records[i])
		}
		digests[entries[i].Receipt], p.Run.Head = entries[i].Digest, entries[i].Hash
	}
	for i := range p.Receipts {
		receipt := &p.Receipts[i]
		receipt.Output, receipt.Input = digests[receipt.ID], r.hide(quoted(receipt.Input))
	}
	_, stated := r.statement.Commits()
	p.Run.Whole, r.statement.Subject = r.first, nil
	r.keepTexts()
	line, _ := effective(entries)
	return r.statement.addSubjects(line, stated)
}

// keepTexts drops the long results that no record names any more.
func (r *redactor) keepTexts() {
	p := &r.statement.Predicate
	p.Texts = nil
	for _, digest := range digests(r.statement.entries) {
		p.Texts = append(p.Texts, r.long[digest])
	}
}

// line returns a record with its placeholders.
func (r *redactor) line(i int) string {
	line := r.statement.Predicate.Records[i]
	root, err := jsonvalue.Read([]byte(line))
	if err != nil {
		return line
	}
	data, spans := root.Lookup("/data"), r.spans(line, "")
	hide := func(parent jsonvalue.Node, names ...string) {
		for _, member := range parent.Members {
			if slices.Contains(names, member.Name) && len(member.Value.Raw) > 2 && string(member.Value.Raw) != `"="` {
				spans = append(spans, span{member.Value.Offset, string(member.Value.Raw)})
			}
		}
	}
	if len(spans) > 0 || r.longMatches(i) {
		hide(data, "digest", "value", "result_ref")
	}
	hide(data, "reply", "shown")
	if jsonvalue.Text(root.Lookup("/kind").Raw) == "refused" {
		hide(data, "input")
	}
	hide(root, "hash", "state")
	if i > r.first {
		hide(root, "prev")
	}
	return r.written(line, spans)
}

// written replaces spans of a line, the outermost where one is within another.
func (r *redactor) written(line string, spans []span) string {
	slices.SortFunc(spans, func(a, b span) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return len(b.raw) - len(a.raw)
	})
	var out strings.Builder
	end := 0
	for _, each := range spans {
		if each.at < end {
			continue
		}
		out.WriteString(line[end:each.at])
		out.WriteString(quoted(r.hide(each.raw)))
		end = each.at + len(each.raw)
	}
	return out.String() + line[end:]
}

// hide returns the placeholder of a value, the same for equal ones.
func (r *redactor) hide(raw string) string {
	if known, ok := r.known[raw]; ok {
		return known
	}
	salt := rand.Text()
	made := placeholder(salt, raw)
	r.known[raw] = made
	r.hidden = append(r.hidden, Disclosure{made, salt, raw})
	return made
}

func quoted(text string) string {
	raw, _ := json.Marshal(text) // a digest or a placeholder, which need no escapes
	return string(raw)
}

package proof

import (
	"crypto/rand"
	"encoding/json"
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

var placeholderPattern = pattern.Lazy(`"(redacted:[0-9a-f]{64})"`)

// headFields and dataFields are the fields of a record that may be redacted. Others are
// what the claims are made of.
var (
	headFields = []string{"prev", "hash", "state"}
	dataFields = []string{"params", "result", "reply", "warnings", "shown", "digest", "value", "result_ref", "reason", "input"}
)

// digestSalted is the kind of the run's digest where its head is redacted.
const digestSalted = "saltedSha256"

// redactions are the placeholders of a proof.
type redactions struct {
	listed map[string]bool
	first  int // index of the first record with one
}

func redactionsOf(placeholders []string) redactions {
	made := redactions{map[string]bool{}, math.MaxInt}
	for _, each := range placeholders {
		made.listed[each] = true
	}
	return made
}

func (r redactions) any() bool { return len(r.listed) > 0 }

// stands reports whether a text is a placeholder.
func (r redactions) stands(text string) bool { return r.listed[text] }

// in returns the placeholders in a record.
func (r redactions) in(line string) (found []string) {
	if !r.any() {
		return nil
	}
	for _, each := range placeholderPattern().FindAllStringSubmatch(line, -1) {
		if r.listed[each[1]] {
			found = append(found, each[1])
		}
	}
	return found
}

// redactions checks that only what may be redacted is, and that nothing is hidden that is
// not listed.
func (v *verifier) redactions() *Reason {
	p := v.statement.Predicate
	v.redacted = redactionsOf(p.Redactions)
	if !slices.IsSorted(p.Redactions) || len(slices.Compact(slices.Clone(p.Redactions))) != len(p.Redactions) {
		return refuse(BadRedaction, "the list of redactions is not sorted, or names one twice")
	}
	for _, each := range p.Redactions {
		if !placeholderPattern().MatchString(`"` + each + `"`) {
			return refuse(BadRedaction, "%s is no salted digest", fault.Cut(each, maxShown))
		}
	}
	used := map[string]bool{}
	for i, line := range p.Records {
		found := v.redacted.in(line)
		if len(found) > 0 && v.redacted.first == math.MaxInt {
			v.redacted.first = i
		}
		for _, each := range found {
			used[each] = true
		}
		if i < v.redacted.first {
			continue
		}
		if !v.redacted.stands(v.entries[i].Hash) {
			return refuse(BadRedaction, "record %d follows a redacted one and shows a hash", i+1)
		}
		if len(v.redacted.in(fixed(line))) > 0 {
			return refuse(BadRedaction, "record %d hides what a claim is made of", i+1)
		}
	}
	for _, each := range p.Receipts {
		used[each.Input] = true
	}
	for _, each := range p.Redactions {
		if !used[each] {
			return refuse(BadRedaction, "%s stands in no record", fault.Cut(each, maxShown))
		}
	}
	return nil
}

// fixed returns the parts of a record that may not be redacted.
func fixed(line string) string {
	var rest strings.Builder
	for name, value := range jsonvalue.Members([]byte(line)) {
		if name != "data" {
			if !slices.Contains(headFields, name) {
				rest.WriteString(quoted(name))
				rest.Write(value)
			}
			continue
		}
		for name, value := range jsonvalue.Members(value) {
			if !slices.Contains(dataFields, name) {
				rest.WriteString(quoted(name))
				rest.Write(value)
			}
		}
	}
	return rest.String()
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
	r := redactor{statement: statement, first: math.MaxInt, known: map[string]string{}}
	for _, rule := range rules {
		if err := r.search(rule); err != nil {
			return nil, err
		}
	}
	if len(rules) == 0 {
		return nil, nil
	}
	return r.hidden, r.replace()
}

// redactor replaces values of one statement.
type redactor struct {
	statement *Statement
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
		if len(r.spans(line, "reply")) > 0 || r.longMatches(line) {
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
func (r *redactor) longMatches(line string) bool {
	each, _ := readEntry(line)
	return each.Data.ResultRef != "" && r.matches(r.statement.Predicate.Texts[each.Data.ResultRef])
}

// replace writes the placeholders.
func (r *redactor) replace() error {
	p := &r.statement.Predicate
	for _, each := range p.Sources {
		if r.matches(p.Texts[each.Digest]) {
			return fault.New(fault.InvalidParams, "--redact fits the workflow or schemas %q, which a proof shows whole", each.Name)
		}
	}
	digests := map[string]string{} // by receipt
	for i, line := range p.Records {
		if i >= r.first {
			p.Records[i] = r.line(i, line)
		}
		each, _ := readEntry(p.Records[i])
		digests[each.Data.Receipt], p.Run.Head = each.Data.Digest, each.Hash
	}
	for i := range p.Receipts {
		receipt := &p.Receipts[i]
		receipt.Output, receipt.Input = digests[receipt.ID], r.hide(quoted(receipt.Input))
	}
	for _, each := range r.hidden {
		p.Redactions = append(p.Redactions, each.Placeholder)
	}
	slices.Sort(p.Redactions)
	return r.subjects()
}

func (r *redactor) subjects() error {
	all := []entry{}
	for _, line := range r.statement.Predicate.Records {
		each, _ := readEntry(line)
		all = append(all, each)
	}
	line, _ := effective(all)
	_, stated := r.statement.Commits()
	b := builder{out: r.statement}
	return b.subjects(line, stated)
}

// line returns a record with its placeholders.
func (r *redactor) line(i int, line string) string {
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
	if len(spans) > 0 || r.longMatches(line) {
		hide(data, "digest", "value", "result_ref")
		delete(r.statement.Predicate.Texts, jsonvalue.Text(data.Lookup("/result_ref").Raw))
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

package proof

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
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
	dataFields = []string{"params", "result", "reply", "warnings", "shown", "digest", "value", "size", "result_ref", "reason", "input"}
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

// Disclosure is what a placeholder stands for. Whoever has it can check the value: the
// placeholder has the SHA-256 of salt and JSON.
type Disclosure struct {
	Placeholder string `json:"placeholder"`
	Salt        string `json:"salt"`
	// JSON is the value, as the record has it.
	JSON string `json:"json"`
}

// Redact replaces values of a statement, and returns what it replaced. A rule is the field
// of a step's result, "step.field", or else a regular expression for texts.
// INVALID_PARAMS if a rule finds nothing, or a workflow itself has what it finds.
func Redact(statement *Statement, rules []string) ([]Disclosure, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	p := &statement.Predicate
	r := redactor{statement: statement, long: p.texts(), known: map[string]string{}, found: map[string]bool{}}
	for _, rule := range rules {
		if err := r.add(rule); err != nil {
			return nil, err
		}
	}
	p.Run.Whole = len(p.Records)
	for i := range p.Records {
		if err := r.record(i); err != nil {
			return nil, err
		}
	}
	for i, each := range p.Rules {
		if r.matches(each.Text) {
			p.Rules[i].Text = r.hide(each.Text)
		}
	}
	for _, rule := range rules {
		if !r.found[rule] {
			return nil, fault.New(fault.InvalidParams, "--redact %q finds nothing in the records and the rules of the run", fault.Cut(rule, 80))
		}
	}
	err := r.finish()
	return r.hidden, err
}

// Sensitive returns where a statement has what a cleaning takes out: records are whole, or their
// hashes would not fit.
func (s *Statement) Sensitive(clean func(string) string) (found []string) {
	for i, each := range s.Predicate.Records {
		if shown := hiddenPattern().ReplaceAllString(each, `""`); clean(shown) != shown {
			found = append(found, "record "+strconv.Itoa(i+1))
		}
	}
	if slices.ContainsFunc(s.Predicate.Texts, func(each string) bool { return clean(each) != each }) {
		found = append(found, "a workflow, a schema or a long result")
	}
	if most := 5; len(found) > most {
		found = append(found[:most:most], strconv.Itoa(len(found)-most)+" more places")
	}
	return found
}

// redactor replaces values of one statement.
type redactor struct {
	statement *Statement
	long      map[string]string // the texts of the proof by digest
	patterns  []*regexp.Regexp
	fields    []fieldRule
	known     map[string]string // placeholders by the JSON that they stand for
	found     map[string]bool   // the rules and patterns that found something
	hidden    []Disclosure
}

// fieldRule is a field of the results of a step.
type fieldRule struct {
	rule, step string
	path       []string
}

func (r *redactor) add(rule string) error {
	step, field, dotted := strings.Cut(rule, ".")
	if dotted && slices.ContainsFunc(r.statement.Predicate.Claims, func(each Claim) bool { return each.Step == step }) {
		r.fields = append(r.fields, fieldRule{rule, step, strings.Split("result."+field, ".")})
		return nil
	}
	compiled, err := regexp.Compile(rule)
	if err != nil || compiled.MatchString("") {
		return fault.New(fault.InvalidParams, "--redact %q: expected STEP.FIELD of a step of the run, or a regular expression that does not fit the empty text", fault.Cut(rule, 80))
	}
	r.patterns = append(r.patterns, compiled)
	return nil
}

// record redacts a record, if the rules find something in it or in one before. A text of a
// redacted field is a pattern for all later records.
func (r *redactor) record(i int) error {
	p, entries := &r.statement.Predicate, r.statement.entries
	decoder := json.NewDecoder(strings.NewReader(p.Records[i]))
	decoder.UseNumber()
	var record map[string]any
	if err := decoder.Decode(&record); err != nil {
		return fault.New(fault.StateCorrupt, "record %d cannot be read: %w", i+1, err)
	}
	data, _ := record["data"].(map[string]any) // null has no members
	shown := r.matchesIn(data["reply"])
	inside := r.matches(r.long[entries[i].ResultRef])
	for _, rule := range r.fields {
		inside = rule.step == entries[i].Step && r.field(data, rule) || inside
	}
	for _, name := range []string{"params", "result", "warnings", "reason"} {
		if r.matchesIn(data[name]) {
			data[name], inside = r.replaced(data[name]), true
		}
	}
	if !shown && !inside && !r.statement.isRedacted() {
		return nil
	}
	if inside {
		r.hideMembers(data, "digest", "value", "size", "result_ref")
	}
	r.hideMembers(data, "reply", "shown")
	if entries[i].Kind == "refused" {
		r.hideMembers(data, "input")
	}
	r.hideMembers(record, "hash", "state")
	if r.statement.isRedacted() {
		r.hideMembers(record, "prev")
	}
	p.Run.Whole = min(p.Run.Whole, i)
	p.Records[i] = string(jsonvalue.Encoded(record))
	entries[i], _ = readEntry(p.Records[i]) // it was one
	return nil
}

// field replaces a field, and makes its texts patterns.
func (r *redactor) field(data map[string]any, rule fieldRule) bool {
	last := len(rule.path) - 1
	for _, name := range rule.path[:last] {
		data, _ = data[name].(map[string]any)
	}
	value, ok := data[rule.path[last]]
	if !ok {
		return false
	}
	eachText(value, func(text string) string {
		if literal := regexp.QuoteMeta(text); len(text) >= 4 && !r.found[literal] {
			r.found[literal] = true
			r.patterns = append(r.patterns, regexp.MustCompile(literal))
		}
		return text
	})
	data[rule.path[last]] = r.hide(value)
	r.found[rule.rule] = true
	return true
}

// eachText returns a value with each of its texts, names of members too, as change has it.
func eachText(value any, change func(string) string) any {
	switch value := value.(type) {
	case string:
		return change(value)
	case []any:
		made := slices.Clone(value)
		for i, each := range value {
			made[i] = eachText(each, change)
		}
		return made
	case map[string]any:
		made := map[string]any{}
		for name, each := range value {
			made[change(name)] = eachText(each, change)
		}
		return made
	}
	return value
}

func (r *redactor) matches(text string) (is bool) {
	for _, each := range r.patterns {
		if each.MatchString(text) {
			r.found[each.String()], is = true, true
		}
	}
	return is
}

func (r *redactor) matchesIn(value any) (is bool) {
	eachText(value, func(text string) string {
		is = r.matches(text) || is
		return text
	})
	return is
}

func (r *redactor) replaced(value any) any {
	return eachText(value, func(text string) string {
		if r.matches(text) && !isPlaceholder(text) {
			return r.hide(text)
		}
		return text
	})
}

// finish takes the head, the receipts, the texts and the subjects from the redacted records.
func (r *redactor) finish() error {
	p, entries := &r.statement.Predicate, r.statement.entries
	for name, pin := range entries[0].Pins {
		if r.matches(r.long[pin.Digest]) {
			return fault.New(fault.InvalidParams, "--redact fits the workflow %q, which a proof shows whole", name)
		}
	}
	if r.matches(r.long[entries[0].Schemas]) {
		return fault.New(fault.InvalidParams, "--redact fits the schemas of the run, which a proof shows whole")
	}
	outputs := map[string]string{} // by receipt
	for _, each := range entries {
		outputs[each.Receipt], p.Run.Head = each.Digest, each.Hash
	}
	for i := range p.Receipts {
		receipt := &p.Receipts[i]
		if receipt.Output = outputs[receipt.ID]; r.statement.isRedacted() {
			receipt.Input = r.hide(receipt.Input)
		}
	}
	p.Texts = nil
	for _, digest := range digests(entries) {
		p.Texts = append(p.Texts, r.long[digest])
	}
	_, stated := r.statement.Commits()
	r.statement.Subject = nil
	r.statement.count()
	r.statement.match()
	return r.statement.addSubjects(stated)
}

// hideMembers hides what an object has of some members. An empty one, and "=", by which a
// record says that a value is its result, show nothing.
func (r *redactor) hideMembers(object map[string]any, names ...string) {
	for _, name := range names {
		if value, ok := object[name]; ok && value != "" && value != "=" {
			object[name] = r.hide(value)
		}
	}
}

// hide returns the placeholder of a value, the same for equal ones.
func (r *redactor) hide(value any) string {
	raw := string(jsonvalue.Encoded(value))
	if known, ok := r.known[raw]; ok {
		return known
	}
	salt := rand.Text()
	made := placeholderPrefix + jsonvalue.HexSum([]byte(salt+raw))
	r.known[raw] = made
	r.hidden = append(r.hidden, Disclosure{made, salt, raw})
	return made
}

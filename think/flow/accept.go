package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/schemas"
)

// accept converts a result to the canonical JSON of the capture, or returns why it does
// not fit.
func (u *unit) accept(result any) ([]byte, *fault.Error) {
	if u.step().Person() {
		return u.acceptPerson(result)
	}
	if statement, ok := StatementOf(result); u.stated && ok {
		result = statement.Result
	}
	var first *fault.Error
	for _, reading := range readings(result) {
		value, problem := u.run().terms.normalise(reading)
		if problem == nil {
			var data []byte
			if data, problem = u.fit(value); problem == nil {
				return data, nil
			}
		}
		if first == nil {
			first = problem
		}
	}
	return nil, u.advised(first, result)
}

// maxMembers bounds the parts of a refused result that are tried.
const maxMembers = 20

// advised adds the likely intention to the refusal of a result: a value nested in
// another one, or malformed JSON in a text.
func (u *unit) advised(failure *fault.Error, result any) *fault.Error {
	whole := func(d fault.Diagnostic) bool { return d.Pointer == "" }
	if failure.Code != fault.ValidationFailed || u.step().Schema == nil || !slices.ContainsFunc(failure.Diagnostics, whole) {
		return failure
	}
	advice := ""
	switch value := result.(type) {
	case string:
		advice = adviceOnText(failure, value)
	case []any:
		if len(value) == 1 && u.satisfiesSchema(value[0]) {
			advice = "its only item fits: send only that item"
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value))[:min(len(value), maxMembers)] {
			if isComposite(value[name]) && u.satisfiesSchema(value[name]) {
				advice = fmt.Sprintf("the value under %q fits: send only that value", fault.Cut(name, 80))
				break
			}
		}
	}
	if advice == "" {
		return failure
	}
	return fault.New(failure.Code, "%s; %s", failure.Details, advice).With(failure.Diagnostics...)
}

// isComposite reports whether a value is an object or a list.
func isComposite(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func (u *unit) satisfiesSchema(value any) bool {
	_, problem := u.fit(value)
	return problem == nil
}

// adviceOnText advises on a text where an object or a list is expected.
func adviceOnText(failure *fault.Error, text string) string {
	wanted := func(d fault.Diagnostic) bool {
		return d.Pointer == "" && (d.Expected == "object" || d.Expected == "array")
	}
	if !slices.ContainsFunc(failure.Diagnostics, wanted) || !strings.ContainsAny(text, "{[") {
		return ""
	}
	if inner := schemas.JSONText(text); inner != "" {
		if _, err := jsonvalue.DecodeStored([]byte(inner)); err != nil {
			return "the text is not JSON (" + err.Error() + "): send the value itself, not a text"
		}
	}
	return "send the JSON value itself, with nothing around it"
}

// readings returns the interpretations of a result, the likeliest first: a text may be
// JSON that a client sent as a string, which only the schema can decide.
func readings(value any) []any {
	text, ok := value.(string)
	if !ok {
		return []any{value}
	}
	candidates := []any{schemas.Normalise(text)}
	if _, still := candidates[0].(string); !still {
		return append(candidates, text)
	}
	return append(candidates, jsonvalue.TextOrValue(text), text)
}

// TooManyValues reports whether a text in a result contains JSON of more than limit
// values. It works on the undecoded text, because decoded values take far more memory.
func TooManyValues(result any, limit int) bool {
	if text, ok := result.(string); ok {
		if holdsMore(text, limit) {
			return true
		}
		result = schemas.Normalise(text) // which may be a CallToolResult
	}
	object, _ := result.(map[string]any)
	content, _ := object["content"].([]any)
	return holdsMore(schemas.ContentText(content), limit)
}

func holdsMore(text string, limit int) bool {
	return len(text) > limit && jsonvalue.Count([]byte(schemas.JSONText(text)), limit) > limit
}

// fit extracts, checks and encodes one value.
func (u *unit) fit(value any) ([]byte, *fault.Error) {
	step := u.step()
	if step.Extract != nil {
		env := u.node.env(u.item)
		env.Result = value
		extracted, err := step.Extract.Eval(env)
		if err != nil {
			d := step.extractAt.diagnostic(err)
			return nil, fault.New(fault.ValidationFailed, "the result of step %q does not fit extract: %s", u.id, d.Message).With(d)
		}
		value = extracted
	}
	if step.Schema != nil {
		if err := step.Schema.Check(value); err != nil {
			problem := fault.From(err)
			return nil, fault.New(problem.Code, "the result of step %q does not fit its success_schema: %s", u.id, firstMessage(problem)).With(problem.Diagnostics...)
		}
	}
	if problem := u.checked(value); problem != nil {
		return nil, problem
	}
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return nil, fault.New(fault.ValidationFailed, "the result of step %q is not JSON: %w", u.id, err)
	}
	return data, nil
}

// checked applies the step's checks to a value. An absent field passes, because
// requiring it is the schema's job.
func (u *unit) checked(value any) *fault.Error {
	for _, each := range u.step().Checks {
		part, at := value, ""
		if each.Field != "" {
			object, _ := value.(map[string]any)
			field, has := object[each.Field]
			if !has {
				continue
			}
			part, at = field, jsonvalue.Token(each.Field)
		}
		if err := schemas.CheckText(each.By, part, at); err != nil {
			problem := fault.From(err)
			return fault.New(problem.Code, "the result of step %q does not pass its check %s: %s", u.id, each.By.Name(), firstMessage(problem)).With(problem.Diagnostics...)
		}
	}
	return nil
}

// acceptPerson reads a person's answer: {approved, comment} for an approval,
// any value that fits the asked schema for a question.
func (u *unit) acceptPerson(value any) ([]byte, *fault.Error) {
	if u.step().Answering() == Decides {
		given, _ := value.(map[string]any)
		approved, ok := given["approved"].(bool)
		if !ok {
			return nil, fault.New(fault.ValidationFailed, "step %q: an approval is {approved: true or false}", u.id).With(
				fault.Diagnostic{Pointer: "/approved", Message: "missing or not a boolean", Expected: "boolean", Actual: kind(given["approved"])})
		}
		if !approved {
			comment, _ := given["comment"].(string)
			if comment != "" {
				comment = ": " + comment
			}
			return nil, fault.New(fault.ApprovalRequired, "step %q was declined by a person%s", u.id, fault.Cut(comment, 500))
		}
		return u.fit(value)
	}
	if schema := u.askSchema(); schema != nil {
		if err := schema.Check(value); err != nil {
			return nil, fault.From(err)
		}
	}
	return u.fit(value)
}

// normalise unwraps an MCP CallToolResult. One with isError is a failed
// attempt: TOOL_FAILED.
func (t Terms) normalise(value any) (any, *fault.Error) {
	value = schemas.WithoutReceipt(value)
	object, _ := value.(map[string]any)
	failed, _ := object["isError"].(bool)
	var also []string
	if failed && t.PlainFailures {
		also = failureKeys
	}
	if !schemas.IsToolResult(value, also...) {
		return value, nil
	}
	content, _ := object["content"].([]any)
	switch structured := object["structuredContent"]; {
	case failed:
		return nil, toolFailed(object, cmp.Or(t.text(content), failureText(object)))
	case structured != nil:
		return schemas.WithoutReceipt(structured), nil
	}
	return schemas.ContentValue(t.text(content)), nil
}

// text returns the text of a result's content.
func (t Terms) text(content []any) string {
	if t.ResourceTexts {
		return schemas.ContentText(content)
	}
	return schemas.BlockText(content)
}

// failureKeys are the members, next to isError, in which models give the reason of a
// failed call.
var failureKeys = []string{"text", "error", "message", "details", "reason"}

// failureText returns the reason of a failed call that does not use MCP's form.
func failureText(object map[string]any) string {
	for _, key := range append([]string{"content"}, failureKeys...) {
		switch said := object[key].(type) {
		case string:
			return said
		case map[string]any:
			data, err := jsonvalue.Encode(said)
			if err == nil {
				return string(data)
			}
		}
	}
	return ""
}

// claimPattern matches a text that holds only a receipt: the id, or the id with the
// member's name.
var claimPattern = pattern.Lazy(`(?i)^\W*(?:_?receipt\W+|result_ref\W+)?([a-z2-7]{8})\W*$`)

// Claim is a receipt found in a result.
type Claim struct {
	// Receipt is the id as given; "" if absent.
	Receipt string
	// Alone: the result is nothing but the receipt. Else it may be, or it is a
	// tool's reply with its receipt.
	Alone bool
	// Whole: the result has more than a receipt.
	Whole bool
}

// ClaimOf finds a receipt that is in a result, or that was sent instead of one.
func ClaimOf(result any) Claim {
	text, isText := result.(string)
	if isText {
		result = schemas.Normalise(text)
	}
	object, ok := result.(map[string]any)
	if !ok {
		if found := claimPattern().FindStringSubmatch(text); isText && len(text) <= schemas.MaxReceiptText && found != nil {
			return Claim{Receipt: found[1]}
		}
		return Claim{}
	}
	if id, ok := object[schemas.ReceiptMember].(string); ok {
		return Claim{Receipt: id, Alone: len(object) == 1, Whole: len(object) > 1}
	}
	for _, key := range []string{"result_ref", "receipt"} {
		if id, ok := object[key].(string); ok && len(object) == 1 {
			return Claim{Receipt: id}
		}
	}
	return claimIn(object)
}

// claimIn finds the receipt in a CallToolResult.
func claimIn(object map[string]any) Claim {
	content, isResult := object["content"].([]any)
	structured, _ := object["structuredContent"].(map[string]any)
	if id, ok := structured[schemas.ReceiptMember].(string); ok {
		return Claim{Receipt: id, Alone: len(structured) == 1, Whole: len(structured) > 1}
	}
	rest := len(structured) > 0
	var claim Claim
	for _, item := range content {
		block, _ := item.(map[string]any)
		text, ok := block["text"].(string)
		switch {
		case ok && schemas.OnlyReceipt(text):
			inner, _ := schemas.Normalise(text).(map[string]any)
			claim.Receipt, _ = inner[schemas.ReceiptMember].(string)
		case ok && strings.HasPrefix(strings.TrimSpace(text), "{"):
			inner, _ := schemas.Normalise(text).(map[string]any)
			if id, ok := inner[schemas.ReceiptMember].(string); ok {
				claim.Receipt = id
			}
			rest = true
		default:
			rest = true
		}
	}
	if !isResult || claim.Receipt == "" {
		return Claim{}
	}
	return Claim{Receipt: claim.Receipt, Alone: !rest, Whole: rest}
}

// Values returns the possible values of an unwrapped result, the likeliest first; none
// if the result reports a failed call.
func (v View) Values(result any) []any {
	var values []any
	for _, reading := range readings(result) {
		value, problem := v.run.terms.normalise(reading)
		if problem != nil {
			return nil
		}
		values = append(values, value)
	}
	return values
}

// codeShape matches the error code of a tool.
var codeShape = pattern.Lazy(`^[A-Z][A-Z0-9_]{1,63}$`)

// toolFailed is the failure of an attempt whose tool reported an error. It has the
// tool's code and details if the tool reports them as Savant does, else the tool's
// text.
func toolFailed(result map[string]any, text string) *fault.Error {
	if failure := toolFault(result, text); failure != nil {
		details := failure.Error()
		if failure.Code == fault.ToolFailed {
			details = failure.Details
		}
		return fault.New(fault.ToolFailed, "%s", fault.Cut(details, 1000)).With(failure.Diagnostics...)
	}
	said := "the tool failed"
	if text != "" {
		said += ": " + fault.Cut(text, 1000)
	}
	return fault.New(fault.ToolFailed, "%s", said).With(
		fault.Diagnostic{Pointer: "/isError", Message: "the tool reported an error", Expected: "a result", Actual: fault.Cut(text, 400)})
}

// failedCall reports whether a result only says that the call failed. It needs no
// witness, because it can only fail the step.
func (t Terms) failedCall(result any) bool {
	return !slices.ContainsFunc(readings(result), func(reading any) bool {
		_, problem := t.normalise(reading)
		return problem == nil || problem.Code != fault.ToolFailed
	})
}

// failureOf returns the failed call that a result is although it has not MCP's form: the
// error of a tool in Savant's own form without the isError of its reply, and isError beside
// members that MCP does not name. The failure of a payment is no payment. A result that
// fits the step's success_schema is one, whatever it looks like.
func (u *unit) failureOf(result any) any {
	if !u.run().terms.BareFaults || u.step().Tool() == "" || u.stated {
		return result
	}
	for _, reading := range readings(result) {
		if list, is := reading.([]any); is {
			reading = map[string]any{"content": list}
		}
		value, problem := u.run().terms.normalise(reading)
		object, _ := value.(map[string]any)
		failed, _ := object["isError"].(bool)
		if failed = failed && u.run().terms.ExtraMembers; problem != nil || !failed && !isFault(object) {
			continue
		}
		if u.step().Schema != nil {
			if _, problem := u.accept(result); problem == nil {
				return result
			}
		}
		content, _ := object["content"].([]any)
		text := cmp.Or(u.run().terms.text(content), failureText(object))
		return map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": text}}, "structuredContent": value}
	}
	return result
}

// isFault reports whether an object is an error as Savant writes it: {"error": CODE,
// "details": text}, and what belongs to one.
func isFault(object map[string]any) bool {
	code, _ := object["error"].(string)
	details, _ := object["details"].(string)
	_, diagnosed := object["diagnostics"].([]any)
	return codeShape().MatchString(code) && details != "" && (len(object) == 2 || diagnosed || object["outcome"] == OutcomeUnknown)
}

// toolFault reads {"error": CODE, "details": text, …} from the result of a failed call:
// from its text, else from its structured content. It returns nil if neither has that
// form.
func toolFault(result map[string]any, text string) *fault.Error {
	structured, _ := jsonvalue.Encode(result["structuredContent"]) // it came from JSON
	for _, each := range [][]byte{[]byte(text), structured} {
		failure := new(fault.Error)
		if json.Unmarshal(each, failure) == nil && codeShape().MatchString(string(failure.Code)) && failure.Details != "" {
			return failure
		}
	}
	return nil
}

// permanentFailure reports whether a result is a permanent failure: its error has "retry":
// false. The caller of the tool knows that better than the workflow's retry rule.
func permanentFailure(value any) bool { return failureSays(value, "retry", "false") }

// unknownOutcome reports whether a result is the failure of a call that may have had an
// effect: its error has "outcome": "unknown".
func unknownOutcome(result any) bool {
	return slices.ContainsFunc(readings(result), func(reading any) bool { return failureSays(reading, "outcome", `"unknown"`) })
}

// failureSays reports whether the error in the result of a failed call has a member with
// a value, as JSON.
func failureSays(value any, name, want string) bool {
	object, _ := value.(map[string]any)
	if failed, _ := object["isError"].(bool); !failed {
		return false
	}
	content, _ := object["content"].([]any)
	failure := toolFault(object, schemas.BlockText(content))
	if failure == nil {
		return false
	}
	member, given := failure.Extra[name].(json.RawMessage)
	return given && string(member) == want
}

// howToState says how an unknown outcome is answered.
const howToState = `{"unknown_outcome": "done", "result": …} or {"unknown_outcome": "not_done"}`

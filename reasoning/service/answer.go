package service

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/reasoning"
	"savant/schemas"
)

// readAnswer extracts the answer of a question from a model's text: the JSON that fits
// the schema, possibly in a fenced block, amid prose or in an intent. Without a schema
// the whole text is the answer. The error is INVALID_INTENT.
func readAnswer(text string, question *reasoning.Question, schema *schemas.Schema) (reasoning.Intent, error) {
	if len(text) > maxText {
		return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer is larger than %d bytes", maxText)
	}
	text = withoutThoughts(text, len(question.Schema) == 0)
	intent, isIntent := intentOf(text)
	isIntent = isIntent && !gjson.GetBytes(question.Schema, "properties.action").Exists()
	switch {
	case text == "":
		return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer is empty")
	case isIntent && intent.Action == reasoning.ActionError:
		return intent, nil
	case len(question.Schema) == 0 && isIntent:
		return intent, nil
	case len(question.Schema) == 0:
		return finished(text), nil
	}
	tried := values(text)
	if isIntent { // a permissive schema would also accept the intent itself
		tried = append(values(intent.Final), tried...)
	}
	return fitting(tried, schema)
}

// finished wraps an answer in an intent.
func finished(answer string) reasoning.Intent {
	return reasoning.Intent{Action: reasoning.ActionFinish, Final: answer}
}

// intentOf parses a text with an explicit intent to finish or to give up; the last one
// that stands by itself counts.
func intentOf(text string) (found reasoning.Intent, is bool) {
	alone := false
	for _, each := range spans(text, false) {
		source := text[each.start:each.end]
		if alone && !each.alone || !hasMember(source, "action") {
			continue
		}
		intent, err := reasoning.ParseIntent([]byte(source), nil)
		if err == nil && (intent.Action == reasoning.ActionError || intent.Action == reasoning.ActionFinish && (hasMember(source, "final") || hasMember(source, "finish"))) {
			found, is, alone = intent, true, each.alone
		}
	}
	return found, is
}

// schemaOfAnswer compiles the schema of a request's question; nil if it has none. An
// invalid one is INVALID_PARAMS.
func schemaOfAnswer(request reasoning.Request) (*schemas.Schema, error) {
	if request.Question == nil || len(request.Question.Schema) == 0 {
		return nil, nil
	}
	value, err := jsonvalue.DecodeStored(request.Question.Schema)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "question.schema is not JSON: %w", err)
	}
	set, err := schemas.Load()
	if err != nil {
		return nil, err
	}
	schema, err := set.Inline(value)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "question.schema: %s", fault.From(err).Message())
	}
	return schema, nil
}

// candidate is a value in a model's text, and the repairs made to parse it.
type candidate struct {
	value   any
	repairs []string
}

// values returns the candidates, the best first: the values in a text that stand by
// themselves, the others, in each case the last first, what is within lists, and the
// text itself.
func values(text string) []candidate {
	var candidates []candidate
	if value, err := jsonvalue.DecodeStored([]byte(text)); err == nil {
		candidates = []candidate{{value: value}}
	}
	text = unquoted(text)
	all := append(candidates, valuesIn(text, spans(text, true))...)
	all = append(all, valuesIn(text, spans(text, false))...)
	return append(all, candidate{value: strings.TrimSpace(text)})
}

func valuesIn(text string, parts []span) []candidate {
	var alone, amid []candidate
	for _, each := range slices.Backward(parts) {
		source := text[each.start:each.end]
		fixed, repairs, ok := repaired(source)
		value, err := jsonvalue.DecodeStored([]byte(fixed))
		switch {
		case !ok || err != nil:
			continue
		case source != text:
			repairs = append(repairs, "the answer stood amid other text")
		}
		if each.alone {
			alone = append(alone, candidate{value, repairs})
		} else {
			amid = append(amid, candidate{value, repairs})
		}
	}
	return append(alone, amid...)
}

// fitting returns the first candidate that fits the schema. The error describes the
// first one that is not plain text.
func fitting(tried []candidate, schema *schemas.Schema) (reasoning.Intent, error) {
	var wrong error
	for _, each := range tried {
		err := schema.Check(each.value)
		if err == nil {
			intent := finished(string(jsonvalue.Encoded(each.value)))
			intent.Repairs = each.repairs
			return intent, nil
		}
		if _, isText := each.value.(string); wrong == nil && !isText {
			wrong = err
		}
	}
	if wrong == nil {
		return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer is not JSON")
	}
	coded := fault.From(wrong)
	said := coded.Details
	for _, each := range coded.Diagnostics {
		said += "\n- " + each.Message
		if each.Pointer != "" {
			said += " (at " + each.Pointer + ")"
		}
	}
	return reasoning.Intent{}, fault.New(fault.InvalidIntent, "the answer does not fit the schema: %s", said).With(coded.Diagnostics...)
}

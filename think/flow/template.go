package flow

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/think/flow/expression"
)

// template is a value whose texts may contain {{ }}. It is compact, because a workflow
// may have tens of thousands.
type template struct {
	form form
	// literal is the value as written, of a literal or a text.
	literal any
	text    *expression.Text
	where   *source // of a text
	// fields are the members of an object or, without keys, of a list.
	fields []field
}

type form uint8

const (
	literalForm form = iota
	textForm
	listForm
	objectForm
)

type field struct {
	key   string
	value *template
}

// Template is a value as written in a workflow, for readers of workflows.
type Template = template

// Member is one value of a map, by its key, or of a list.
type Member struct {
	Key   string
	Value *Template
}

// Literal returns a scalar as it is written, and whether it has no expressions.
func (t *template) Literal() (value any, ok bool) { return t.literal, t.form == literalForm }

// Text returns a text with expressions in it, and where it stands.
func (t *template) Text() (text *expression.Text, at *Site, ok bool) {
	return t.text, t.where, t.form == textForm
}

// Members returns the values of a map, or of a list.
func (t *template) Members() (members []Member, isList bool) {
	for _, f := range t.fields {
		members = append(members, Member{f.key, f.value})
	}
	return members, t.form == listForm
}

func (t *template) render(env expression.Env) (any, error) {
	if t == nil {
		return map[string]any{}, nil
	}
	switch t.form {
	case textForm:
		value, err := t.text.Render(env)
		var problem *expression.Error
		if errors.As(err, &problem) && problem.Missing {
			err = &expression.Error{Code: fault.TemplateRenderError, Offset: problem.Offset, Message: problem.Message}
		}
		if err != nil {
			return nil, t.where.failure(err)
		}
		return value, nil
	case objectForm:
		object := make(map[string]any, len(t.fields))
		for _, f := range t.fields {
			value, err := f.value.render(env)
			if err != nil {
				return nil, err
			}
			object[f.key] = value
		}
		return object, nil
	case listForm:
		list := make([]any, len(t.fields))
		for i, item := range t.fields {
			value, err := item.value.render(env)
			if err != nil {
				return nil, err
			}
			list[i] = value
		}
		return list, nil
	default:
		return t.literal, nil
	}
}

// ordered returns a value that the template rendered, with the members of its objects in
// the order in which they are written.
func (t *template) ordered(value any) any {
	if t.form == textForm {
		return t.text.Ordered(value)
	}
	switch at := value.(type) {
	case map[string]any:
		if t.form != objectForm {
			return value
		}
		object := make(jsonvalue.Object, 0, len(at))
		for _, f := range t.fields {
			object.Add(f.key, f.value.ordered(at[f.key]))
		}
		return object
	case []any:
		if t.form != listForm {
			return value
		}
		list := make([]any, len(at))
		for i, item := range at {
			list[i] = t.fields[i].value.ordered(item)
		}
		return list
	}
	return value
}

// condition is render for a template that decides something: what it cannot read is
// an error of the expression.
func (t *template) condition(env expression.Env) (any, error) {
	if t.form != textForm {
		return t.render(env)
	}
	value, err := t.text.Render(env)
	if err != nil {
		return nil, t.where.failure(err)
	}
	return value, nil
}

// absent returns the capture that rendering would read although its step has none, or "".
func (t *template) absent(env expression.Env) string {
	if t == nil {
		return ""
	}
	if t.text != nil {
		return t.text.Absent(env)
	}
	for _, f := range t.fields {
		if name := f.value.absent(env); name != "" {
			return name
		}
	}
	return ""
}

// references returns what the template reads.
func (t *template) references(visit func(expression.Reference, *source)) {
	for _, each := range t.texts(nil) {
		for _, reference := range each.text.References() {
			visit(reference, each.where)
		}
	}
}

// Texts returns the texts with expressions in the value, in their order.
func (t *template) Texts() []*expression.Text {
	var list []*expression.Text
	for _, each := range t.texts(nil) {
		list = append(list, each.text)
	}
	return list
}

// texts appends the texts with expressions to a list.
func (t *template) texts(list []*template) []*template {
	if t == nil {
		return list
	}
	if t.text != nil {
		list = append(list, t)
	}
	for _, f := range t.fields {
		list = f.value.texts(list)
	}
	return list
}

// certain returns the captures that the step reads whenever it runs.
func (s *Step) certain() (names []string) {
	input := s.input
	if s.Call == CallAssert {
		input = input.field("that") // the message is read where it does not hold
	}
	for _, each := range input.texts(nil) {
		parts, _ := each.text.Parts()
		for _, part := range parts {
			names = append(names, part.Program.Certain()...)
		}
	}
	for _, program := range []*expression.Program{s.When, s.Foreach, s.Extract, s.Until, s.Parallel} {
		if program != nil {
			names = append(names, program.Certain()...)
		}
	}
	return names
}

// field returns the value of one key of an object template.
func (t *template) field(key string) *template {
	if t == nil {
		return nil
	}
	for _, f := range t.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// kind names the JSON type of a value for a message.
func kind(value any) string { return jsonvalue.Kind(value) }

// template reads a value whose texts may hold {{ }}.
func (p *parser) template(node *yaml.Node, at *yamlPath, scope expression.Scope) *template {
	switch node.Kind {
	case yaml.MappingNode:
		t := &template{form: objectForm, fields: make([]field, 0, len(node.Content)/2)}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			if strings.Contains(key.Value, "{{") {
				p.add(fault.YAMLSchemaViolation, at.path(), key, "a key cannot be a template: build the map with an expression instead")
			}
			t.fields = append(t.fields, field{key.Value, p.template(node.Content[i+1], &yamlPath{above: at, key: key.Value}, scope)})
		}
		return t
	case yaml.SequenceNode:
		t := &template{form: listForm, fields: make([]field, 0, len(node.Content))}
		for i, item := range node.Content {
			t.fields = append(t.fields, field{value: p.template(item, &yamlPath{above: at, index: i + 1}, scope)})
		}
		return t
	}
	if node.Tag != "!!str" || !strings.Contains(node.Value, "{{") {
		if node.Tag == "!!int" || node.Tag == "!!float" {
			p.losesText(node, at.path())
		}
		return &template{literal: valueOf(node)}
	}
	return p.templateText(node, at.path(), scope)
}

// templateText reads a text that holds {{ }}, once for each text and scope.
func (p *parser) templateText(node *yaml.Node, at string, scope expression.Scope) *template {
	where := p.source(node, at, 0)
	key := scope.Item + "\x00" + strconv.FormatBool(scope.Outcome) + "\x00" + node.Value
	text, ok := p.texts[key]
	if !ok {
		var err error
		text, err = expression.CompileText(node.Value, scope)
		if p.cutByComment(node, at, err != nil) {
			return &template{literal: ""}
		}
		if err != nil {
			for _, each := range expression.ErrorsOf(err) {
				p.diagnostics = append(p.diagnostics, where.diagnostic(each))
			}
			return &template{literal: ""}
		}
		p.texts[key] = text
	}
	return &template{form: textForm, text: text, literal: node.Value, where: where}
}

// inputOf checks the inputs that the language itself defines.
func (p *parser) inputOf(r raw) {
	s, node := r.step, r.node
	if input := r.keys.value("input_template"); input != nil {
		node = input
	}
	rule, ok := inputs[s.Call]
	if !ok {
		return
	}
	if s.input.field(rule.needed) == nil {
		instead := ""
		if s.input != nil && len(s.input.fields) == 1 {
			instead = fmt.Sprintf(", and it has only %q", fault.Cut(s.input.fields[0].key, 80))
		}
		p.add(fault.YAMLSchemaViolation, s.path+".input_template", node, "%s needs input_template.%s%s", s.Call, rule.needed, instead)
		return
	}
	for _, f := range s.input.fields {
		if rule.known != nil && !slices.Contains(rule.known, f.key) {
			key, _ := entry(node, f.key)
			p.add(fault.YAMLSchemaViolation, s.path+".input_template."+f.key, key, "%s takes %s, not %q%s", s.Call, strings.Join(rule.known, " and "), f.key, suggestion(f.key, rule.known, ""))
		}
	}
	if s.Call == CallRun {
		p.child(s, node)
	}
}

// literalList reads a list that is written out as the expression it is.
func (p *parser) literalList(node *yaml.Node, at string, scope expression.Scope) (*expression.Program, *source) {
	data, err := jsonvalue.Encode(valueOf(node))
	if err != nil || len(data) > 1000 || strings.Contains(string(data), "{{") {
		p.add(fault.YAMLSchemaViolation, at, node, "a list written out in foreach is short and plain: give a longer one as a parameter's default, and build one from values with an expression in quotes")
		return nil, nil
	}
	p.valueTexts(node, at)
	literal := *node
	literal.Kind, literal.Tag, literal.Value, literal.Content = yaml.ScalarNode, "!!str", string(data), nil
	program, where := p.compile(&literal, at, scope)
	where.style = yaml.FoldedStyle // every error is at its start
	return program, where
}

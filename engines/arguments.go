package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
)

// inputs validates the arguments of one tool.
type inputs struct {
	what     string // for errors
	root     map[string]any
	compiled lazy[*schemas.Schema]
	// properties are the declared arguments; open means that undeclared ones are
	// accepted.
	properties map[string]any
	required   []any
	open       bool
}

// schema returns the compiled schema.
func (in *inputs) schema() (*schemas.Schema, error) {
	return in.compiled.get(func() (*schemas.Schema, error) { return compile(in.what, in.root) })
}

func (t Tool) inputs() (*inputs, error) {
	what := t.Name + ": input"
	root, err := rootOf(what, t.InputSchema())
	if err != nil {
		return nil, err
	}
	made := &inputs{what: what, root: root}
	made.properties, _ = root["properties"].(map[string]any)
	made.required, _ = root["required"].([]any)
	additional, said := root["additionalProperties"]
	_, patterns := root["patternProperties"]
	made.open = patterns || said && additional != false || root["properties"] == nil
	return made, nil
}

// accept validates the arguments of a call and returns those to pass to the tool, or
// INVALID_PARAMS. It tolerates common mistakes of models and clients: nothing or null
// for no arguments; all arguments, or any value that cannot be a text, sent as a text;
// null for an optional argument; and undeclared arguments, which are dropped unless the
// schema states additionalProperties. Correct arguments are passed on byte for byte.
func (r *registeredTool) accept(ctx context.Context, args json.RawMessage, logger *slog.Logger) (accepted json.RawMessage, dropped []string, err error) {
	sent, args, err := readArguments(args)
	if err != nil {
		return nil, nil, r.withToolName(err)
	}
	in, err := r.inputs.get(r.tool.inputs)
	if err != nil {
		return nil, nil, err
	}
	if err := in.checkUndeclared(sent); err != nil {
		return nil, nil, r.withToolName(err)
	}
	stray, values, changed, err := in.forgive(sent)
	dropped = slices.Sorted(maps.Keys(stray))
	if len(dropped) > 0 {
		logger.DebugContext(ctx, "arguments the tool does not declare were dropped", "tool", r.tool.Name, "arguments", dropped)
	}
	if err == nil && len(stray) > 0 && r.tool.Judge != nil {
		err = r.tool.Judge.Stray(sent, stray)
	}
	if err != nil {
		return nil, nil, r.withToolName(err)
	}
	schema, err := in.schema()
	if err != nil {
		return nil, nil, r.withToolName(err)
	}
	if err := schema.Check(values); err != nil {
		meant, convertErr := in.convert(values, sent)
		if convertErr != nil {
			return nil, nil, r.withToolName(convertErr)
		}
		if changed = changed || meant; meant {
			err = schema.Check(values)
		}
		if err != nil {
			return nil, nil, r.withToolName(in.explain(err, dropped))
		}
	}
	if changed {
		args, err = json.Marshal(sent)
	}
	return args, dropped, err
}

// maxNamed is how many dropped arguments a warning names.
const maxNamed = 10

// droppedArguments is the warning for undeclared arguments that were dropped.
func droppedArguments(names []string) string {
	if len(names) == 0 {
		return ""
	}
	shown := make([]string, min(len(names), maxNamed))
	for i := range shown {
		shown[i] = strconv.Quote(fault.Cut(names[i], 80))
	}
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return schemas.Warning(text)
}

// maxUndeclared is the maximum number of undeclared arguments of a call, also where the
// schema accepts them. Clients add a few of their own.
const maxUndeclared = 1000

// checkUndeclared refuses a call with more undeclared arguments than anybody sends by mistake.
func (in *inputs) checkUndeclared(sent map[string]json.RawMessage) error {
	undeclared := len(sent)
	for name := range in.properties {
		if _, declared := sent[name]; declared {
			undeclared--
		}
	}
	if undeclared <= maxUndeclared {
		return nil
	}
	return fault.New(fault.InvalidParams, "the tool does not declare %d of the arguments; a call may have at most %d undeclared ones", undeclared, maxUndeclared)
}

// advised adds to the refusal of a call's arguments what the tool says about it.
func (r *registeredTool) advised(ctx context.Context, call Call, args json.RawMessage, refused error) error {
	if r.tool.Judge == nil {
		return refused
	}
	sent, _, err := readArguments(args)
	if err != nil {
		return refused
	}
	return r.tool.Judge.Advise(ctx, call, sent, refused)
}

// withToolName adds the tool's name to the error.
func (r *registeredTool) withToolName(err error) error {
	coded := fault.From(err)
	return fault.New(coded.Code, "%s: %s", r.tool.Name, coded.Message()).With(coded.Diagnostics...)
}

// forgive corrects in sent what accept tolerates and returns the values to validate.
// stray are the undeclared arguments.
func (in *inputs) forgive(sent map[string]json.RawMessage) (stray map[string]json.RawMessage, values map[string]any, changed bool, err error) {
	stray, values = map[string]json.RawMessage{}, make(map[string]any, len(sent))
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		declared, known := in.properties[name]
		if !known && !in.open {
			stray[name] = sent[name]
		}
		if (!known && !in.open) || in.absent(name, sent[name]) {
			delete(sent, name)
			changed = true
			continue
		}
		if values[name], err = read(declared, sent[name]); err != nil {
			return stray, nil, changed, invalid(name, err)
		}
	}
	return stray, values, changed, nil
}

// readArguments returns the members of the arguments, which must be a JSON object, and
// the object itself. A duplicate name is refused at any depth: otherwise the value that
// is validated may not be the one that the tool reads.
func readArguments(args json.RawMessage) (map[string]json.RawMessage, json.RawMessage, error) {
	args = bytes.TrimSpace(args)
	var text string
	if len(args) > 0 && args[0] == '"' && jsonvalue.Unmarshal(args, &text) == nil {
		args = bytes.TrimSpace([]byte(text))
	}
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	if args[0] != '{' {
		return nil, nil, fault.New(fault.InvalidParams, "arguments: expected a JSON object, got %s", fault.Cut(string(args), 100))
	}
	sent := map[string]json.RawMessage{}
	if err := jsonvalue.Unmarshal(args, &sent); err != nil {
		return nil, nil, fault.New(fault.InvalidParams, "arguments are not JSON: %w", err)
	}
	return sent, args, nil
}

// convert replaces texts that stand for another value. It changes values and what was
// sent, and reports whether it changed anything.
func (in *inputs) convert(values map[string]any, sent map[string]json.RawMessage) (changed bool, err error) {
	for name, value := range values {
		meant, differs := schemas.ConvertMember(in.root, name, value)
		if !differs {
			continue
		}
		if sent[name], err = jsonvalue.Encode(meant); err != nil {
			return changed, err
		}
		values[name], changed = meant, true
	}
	return changed, nil
}

// absent reports whether null was sent for an optional argument that cannot be null.
// Several clients omit an argument in this way.
func (in *inputs) absent(name string, sent json.RawMessage) bool {
	declared, _ := in.properties[name].(map[string]any)
	return string(sent) == "null" && declared["type"] != nil && !allows(declared["type"], "null") &&
		!slices.Contains(in.required, any(name))
}

// allows reports whether a schema's type includes one of the names.
func allows(types any, names ...string) bool {
	list, isList := types.([]any)
	if !isList {
		list = []any{types}
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(list, any(name)) })
}

// read decodes one argument for validation. An argument that accepts anything is not
// decoded: it can be large, and its tool decodes it anyway.
func read(declared any, sent json.RawMessage) (any, error) {
	schema, _ := declared.(map[string]any)
	if schema != nil && takesAnything(schema) {
		return true, nil
	}
	return jsonvalue.Decode(sent)
}

func takesAnything(schema map[string]any) bool {
	for keyword := range schema {
		if keyword != "description" && keyword != "title" && keyword != "default" && keyword != "examples" {
			return false
		}
	}
	return true
}

func invalid(name string, err error) *fault.Error {
	return fault.New(fault.InvalidParams, "argument %s: %w", name, err).With(fault.Diagnostic{Path: name, Message: err.Error()})
}

// explain converts VALIDATION_FAILED to INVALID_PARAMS, with the argument as a path.
// For a missing argument it names the dropped one that was probably meant.
func (in *inputs) explain(err error, dropped []string) error {
	coded := fault.From(err)
	if coded.Code != fault.ValidationFailed {
		return coded
	}
	var found []fault.Diagnostic
	for _, d := range coded.Diagnostics {
		d.Path = fault.PathOf(d.Pointer)
		if missing, ok := strings.CutPrefix(d.Expected, "property "); ok && d.Pointer == "" {
			name, _, _ := strings.Cut(missing, " (")
			name, _ = strconv.Unquote(name)
			d.Path, d.Message = name, "missing argument "+strconv.Quote(name)
			if near := fault.Nearest(name, dropped); near != "" {
				d.Message += fmt.Sprintf("; %q was sent, did you mean %q?", near, name)
			}
		}
		found = append(found, d)
	}
	details := found[0].Message
	if found[0].Pointer != "" {
		details = found[0].Path + ": " + details
	}
	return fault.New(fault.InvalidParams, "%s", details).With(found...)
}

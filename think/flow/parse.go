package flow

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/schemas"
	"savant/think/flow/expression"
)

// Parse reads one workflow file. file is its name in diagnostics, and its base name
// must equal the workflow's name; an empty file skips that check. The error lists every
// problem with line and column, in the order of the file; its code is that of the first
// problem.
func Parse(file string, src []byte, set *schemas.Set) (*Workflow, error) {
	r := &report{file: file, needs: "; a workflow needs name, version and steps"}
	p := &parser{report: r}
	w := &Workflow{File: file, Digest: jsonvalue.HexSum(src), Source: src, set: set}
	if root := r.readSource(src); root != nil {
		p.workflow(w, root)
	}
	return r.outcome(w)
}

// ErrNoHead says that the text ends before the key steps.
var ErrNoHead = errors.New("the steps do not begin within what was read")

// ParseHead reads the beginning of a large file: the workflow's name, metadata and
// parameters. The workflow has no steps, no source and no digest, so it can be listed
// and not run; whether the rest is valid is not known. ErrNoHead: src does not reach to
// the key steps.
func ParseHead(file string, src []byte, set *schemas.Set) (*Workflow, error) {
	end := bytes.Index(src, []byte("\nsteps:"))
	if end < 0 {
		return nil, ErrNoHead
	}
	r := &report{file: file, needs: "; a workflow needs name, version and steps"}
	p := &parser{report: r}
	w := &Workflow{File: file, set: set}
	if root := r.readSource(src[:end+1]); root != nil {
		p.head(w, root)
	}
	return r.outcome(w)
}

type parser struct {
	*report
	w        *Workflow
	scope    expression.Scope // outside loops
	programs map[string]*expression.Program
	texts    map[string]*expression.Text
	inlined  map[string]*schemas.Schema // by what was written
}

// entries are the alternating keys and values of a map in the file. Maps are small, so
// a linear search is cheaper than a Go map.
type entries []*yaml.Node

// value returns the value of a key, or nil.
func (e entries) value(key string) *yaml.Node {
	for i := 0; i+1 < len(e); i += 2 {
		if e[i].Value == key {
			return e[i+1]
		}
	}
	return nil
}

// mapping returns the entries of a map and whether it is one, after reporting
// unknown keys; nil knows all.
func (p *parser) mapping(node *yaml.Node, at string, known []string) (entries, bool) {
	if node.Kind != yaml.MappingNode {
		keys := ""
		if len(known) > 0 {
			keys = " with the keys " + strings.Join(known, ", ")
		}
		p.add(fault.YAMLSchemaViolation, at, node, "%s must be a map%s, not %s", subject(at), keys, kind(valueOf(node)))
		return nil, false
	}
	for i := 0; i+1 < len(node.Content) && known != nil; i += 2 {
		if key := node.Content[i]; !slices.Contains(known, key.Value) {
			p.add(fault.YAMLSchemaViolation, join(at, key.Value), key, "unknown key %q%s", fault.Cut(key.Value, 80), meantKey(key.Value, known))
		}
	}
	return node.Content, true
}

func subject(path string) string {
	if path == "" {
		return "a workflow"
	}
	return path
}

// suggestion names the known word nearest to a name, or returns otherwise if none is
// near.
func suggestion(name string, known []string, otherwise string) string {
	return cmp.Or(fault.NearestHint("; did you mean %q?", name, known), otherwise)
}

// otherKeys maps keys of other workflow languages to Savant's.
var otherKeys = map[string][]string{
	"when": {"if", "only_if", "condition", "unless"}, "deps": {"needs", "depends_on", "depends-on", "dependsOn", "depends", "after", "requires"},
	"call":           {"run", "uses", "tool", "action", "function", "use", "command", "type"},
	"input_template": {"with", "input", "inputs", "args", "arguments", "params", "parameters", "prompt", "task", "message"},
	"capture_as":     {"output", "outputs", "save_as", "register", "store_as", "result", "as_var"},
	"foreach":        {"for_each", "for-each", "loop", "with_items", "each", "for", "matrix"}, "id": {"name", "key"},
	"success_schema": {"schema", "output_schema", "response_schema", "result_schema"}, "retry": {"max_retries", "attempts"},
	"on_failure": {"on_error", "continue_on_error", "continue-on-error", "onFailure", "on-failure"}, "rationale": {"description", "desc", "why", "reason", "comment"},
	"timeout": {"timeout-minutes", "timeout_seconds", "timeout_minutes"}, "repeat": {"until", "while"},
	"steps": {"jobs", "tasks", "stages", "nodes"}, "params": {"inputs", "parameters", "args", "variables", "vars", "input"},
}

// meantKey names the key that is likely meant by one that is not known.
func meantKey(key string, known []string) string {
	for _, own := range slices.Sorted(maps.Keys(otherKeys)) {
		if slices.Contains(known, own) && slices.Contains(otherKeys[own], key) {
			return "; say " + strconv.Quote(own)
		}
	}
	return suggestion(key, known, knownNames(known))
}

func knownNames(known []string) string {
	return "; known: " + fault.Cut(strings.Join(slices.Sorted(slices.Values(known)), ", "), 300)
}

func (p *parser) workflow(w *Workflow, root *yaml.Node) {
	keys, ok := p.head(w, root)
	if !ok {
		return
	}
	p.steps(keys.value("steps"), root)
	p.ending(keys)
	if w.OpenParams {
		p.impliedParams()
	}
	w.Enforce = p.choice(keys, "enforce", "", EnforceOff, EnforceRequired)
	if node := keys.value("strict_tools"); node != nil {
		strict, ok := valueOf(node).(bool)
		if w.StrictTools = strict; !ok {
			p.add(fault.YAMLSchemaViolation, "strict_tools", node, "strict_tools must be true or false%s", boolean(node.Value))
		}
	}
}

// head reads everything but the steps: name, version, description, schemas and
// parameters.
func (p *parser) head(w *Workflow, root *yaml.Node) (entries, bool) {
	p.w = w
	p.programs, p.texts = map[string]*expression.Program{}, map[string]*expression.Text{}
	p.inlined = map[string]*schemas.Schema{}
	keys, ok := p.mapping(root, "", workflowKeys)
	if !ok {
		return nil, false
	}
	w.Name = p.required(keys, "name", "", root)
	base := strings.TrimSuffix(path.Base(w.File), path.Ext(w.File))
	if node := keys.value("name"); node != nil && w.Name != "" {
		if !workflowName().MatchString(w.Name) {
			p.add(fault.YAMLSchemaViolation, "name", node, "name %q: use lower-case letters, digits, _ and -, starting with a letter, at most 64", fault.Cut(w.Name, 80))
		} else if w.File != "" && w.Name != base {
			p.add(fault.YAMLSchemaViolation, "name", node, "name %q differs from the file's name %q: make them equal", w.Name, base)
		}
	}
	w.Version = p.required(keys, "version", "", root)
	if node := keys.value("version"); node != nil && w.Version != "" && !versionText().MatchString(w.Version) {
		p.add(fault.YAMLSchemaViolation, "version", node, "version %q: use letters, digits, dots, + and -", fault.Cut(w.Version, 80))
	}
	w.Description = p.text(keys, "description", "")
	if node := keys.value("desc"); node != nil {
		if keys.value("description") != nil {
			p.add(fault.YAMLSchemaViolation, "desc", node, "desc and description are the same key: keep one")
		}
		w.Description = p.text(keys, "desc", "")
	}
	p.limits(keys.value("limits"))
	p.defaults(keys.value("defaults"))
	p.schemas(keys.value("schemas"))
	p.params(keys.value("params"))
	w.OpenParams, w.Ruled = keys.value("params") == nil, keys.value("rules") != nil
	return keys, true
}

// required returns the source text of a scalar, so that 1.10 stays "1.10".
func (p *parser) required(keys entries, key, at string, parent *yaml.Node) string {
	node := keys.value(key)
	if node == nil {
		p.add(fault.YAMLSchemaViolation, join(at, key), parent, "%s is missing", key)
		return ""
	}
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" || node.Value == "" {
		p.add(fault.YAMLSchemaViolation, join(at, key), node, "%s must be text", key)
		return ""
	}
	return node.Value
}

func (p *parser) text(keys entries, key, at string) string {
	node := keys.value(key)
	if node == nil || node.Tag == "!!null" {
		return ""
	}
	if node.Kind != yaml.ScalarNode {
		p.add(fault.YAMLSchemaViolation, join(at, key), node, "%s must be text, not %s", key, kind(valueOf(node)))
		return ""
	}
	return node.Value
}

// integer sets into where the map has the key.
func (p *parser) integer(keys entries, key, at string, low, high int, into *int) {
	node := keys.value(key)
	if node == nil {
		return
	}
	value, ok := valueOf(node).(int)
	if !ok || value < low || value > high {
		p.add(fault.YAMLSchemaViolation, join(at, key), node, "%s must be an integer from %d to %d", join(at, key), low, high)
		return
	}
	*into = value
}

func (p *parser) limits(node *yaml.Node) {
	p.w.Limits = Limits{Items: DefaultMaxItems, Parallel: 1, Steps: DefaultMaxSteps}
	if node == nil {
		return
	}
	keys, _ := p.mapping(node, "limits", limitKeys)
	p.w.Limits.ParallelWritten = keys.value("parallel") != nil
	p.groups(keys.value("groups"))
	p.integer(keys, "items", "limits", 1, maxLimit, &p.w.Limits.Items)
	p.integer(keys, "parallel", "limits", 1, MaxParallel, &p.w.Limits.Parallel)
	p.integer(keys, "steps", "limits", 1, maxLimit, &p.w.Limits.Steps)
}

func (p *parser) groups(node *yaml.Node) {
	if node == nil {
		return
	}
	keys, _ := p.mapping(node, "limits.groups", nil)
	p.w.Limits.Groups = make(map[string]int, len(keys)/2)
	for i := 0; i+1 < len(keys); i += 2 {
		name, most := keys[i].Value, 1
		if !stepName().MatchString(name) {
			p.add(fault.YAMLSchemaViolation, "limits.groups", keys[i], "a group's name is letters, digits, _ and -, starting with a letter")
		}
		p.integer(keys, name, "limits.groups", 1, MaxParallel, &most)
		p.w.Limits.Groups[name] = most
	}
}

func (p *parser) defaults(node *yaml.Node) {
	p.w.Defaults = Defaults{OnFailure: Fail, Retry: Retry{Max: DefaultRetries}}
	if node == nil {
		return
	}
	keys, _ := p.mapping(node, "defaults", defaultKeys)
	p.w.Defaults.OnFailure = p.onFailure(keys, "defaults")
	p.retry(keys, "defaults", &p.w.Defaults.Retry)
}

func (p *parser) onFailure(keys entries, at string) OnFailure {
	return OnFailure(p.choice(keys, "on_failure", at, string(Fail), string(Continue), string(SkipRest)))
}

// retry reads into what the keys say of it.
func (p *parser) retry(keys entries, at string, into *Retry) {
	node := keys.value("retry")
	if node == nil {
		return
	}
	at = join(at, "retry")
	known, _ := p.mapping(node, at, retryKeys)
	p.integer(known, "max", at, 0, 100, &into.Max)
	if known.value("backoff") != nil {
		into.Backoff = p.duration(known, "backoff", at)
	}
	if again := known.value("on_unknown"); again != nil {
		yes, ok := valueOf(again).(bool)
		if into.OnUnknown = yes; !ok {
			p.add(fault.YAMLSchemaViolation, at+".on_unknown", again, "on_unknown must be true or false%s", boolean(again.Value))
		}
	}
}

func (p *parser) schemas(node *yaml.Node) {
	if node == nil {
		return
	}
	keys, _ := p.mapping(node, "schemas", nil)
	p.w.Schemas = make(map[string]any, len(keys)/2)
	ordered := make(map[string]any, len(keys)/2)
	for i := 0; i+1 < len(keys); i += 2 {
		name, value := keys[i].Value, keys[i+1]
		if !stepName().MatchString(name) {
			p.add(fault.YAMLSchemaViolation, "schemas."+name, value, "a schema's name is letters, digits, _ and -, starting with a letter")
		}
		p.w.Schemas[name], ordered[name] = valueOf(value), valueAs(value, true)
		p.schemaTexts(value, "schemas."+name)
	}
	set, err := p.w.set.With(ordered)
	if err != nil {
		p.schemaProblem(err, "schemas", node)
		return
	}
	p.w.set = set
	for i := 0; i+1 < len(keys); i += 2 {
		if _, err := set.Lookup(keys[i].Value); err != nil {
			p.schemaProblem(err, "schemas."+keys[i].Value, keys[i+1])
		}
	}
}

func (p *parser) schemaProblem(err error, at string, node *yaml.Node) {
	problem := fault.From(err)
	message := problem.Message()
	for _, d := range problem.Diagnostics {
		if message == "" {
			message = d.Message
		}
	}
	if first := problem.Diagnostics; len(first) > 0 && first[0].File == "" {
		node = nodeAt(node, first[0].Pointer)
	}
	p.add(problem.Code, at, node, "%s", message)
}

func (p *parser) params(node *yaml.Node) {
	if node == nil || node.Tag == "!!null" {
		return
	}
	if node.Kind != yaml.MappingNode {
		p.add(fault.YAMLSchemaViolation, "params", node, "params must be a map of names to JSON Schemas")
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		p.param(node.Content[i], node.Content[i+1])
		p.schemaTexts(node.Content[i+1], "params."+node.Content[i].Value)
	}
}

// impliedParams declares the parameters that a file without params reads. Those with
// only soft reads are optional.
func (p *parser) impliedParams() {
	required := map[string]bool{}
	note := func(references []expression.Reference) {
		for _, reference := range references {
			if reference.Root == "params" && reference.Name != "" {
				required[reference.Name] = required[reference.Name] || !reference.Soft
			}
		}
	}
	for _, program := range p.programs {
		note(program.References())
	}
	for _, text := range p.texts {
		note(text.References())
	}
	for _, name := range slices.Sorted(maps.Keys(required)) {
		check, err := p.w.set.Inline(map[string]any{})
		if err != nil {
			return // never: it is the schema of anything
		}
		p.w.Params = append(p.w.Params, Param{Name: name, Required: required[name], Schema: map[string]any{}, check: check})
	}
}

func (p *parser) param(key, node *yaml.Node) {
	at := "params." + key.Value
	param := Param{Name: key.Value, Written: orderedJSON(node)}
	if !variableName().MatchString(key.Value) || slices.Contains(rootNames, key.Value) {
		p.add(fault.YAMLSchemaViolation, at, key, "%q cannot name a parameter: use letters, digits and _, and none of %s", fault.Cut(key.Value, 80), strings.Join(rootNames, ", "))
		return
	}
	schema, ok := valueOf(node).(map[string]any)
	if !ok {
		if node.Tag != "!!null" {
			p.add(fault.YAMLSchemaViolation, at, node, "a parameter is a JSON Schema such as {type: string, required: true}")
			return
		}
		schema = map[string]any{}
	}
	switch required := schema["required"].(type) {
	case bool:
		param.Required = required
		delete(schema, "required")
	case string:
		_, value := entry(node, "required")
		p.add(fault.YAMLSchemaViolation, at+".required", value, "required must be true or false, not text%s", boolean(required))
		delete(schema, "required") // its readers are not at fault
	}
	param.Default, param.HasDefault = schema["default"]
	param.Description, _ = schema["description"].(string)
	param.Schema = schema
	check, err := p.w.set.Inline(schema)
	if err != nil {
		p.schemaProblem(err, at, node)
		param.Schema = map[string]any{} // its readers are not at fault
		p.w.Params = append(p.w.Params, param)
		return
	}
	param.check = check
	if param.HasDefault && param.Default != nil {
		if err := check.Check(param.Default); err != nil {
			_, value := entry(node, "default")
			p.add(fault.InvalidParams, at+".default", value, "the default does not fit the parameter's schema: %s", firstMessage(err))
		}
	}
	p.w.Params = append(p.w.Params, param)
}

// boolean advises on a word such as yes or off, which YAML 1.2 does not read as a
// boolean; "" for other words.
func boolean(word string) string {
	switch strings.ToLower(word) {
	case "yes", "on", "y", "1", "true":
		return ": write true"
	case "no", "off", "n", "0", "false":
		return ": write false"
	}
	return ""
}

func firstMessage(err error) string {
	problem := fault.From(err)
	if len(problem.Diagnostics) > 0 {
		return problem.Diagnostics[0].Message
	}
	return problem.Message()
}

// compile reads an expression that stands at a node, once for each text and
// scope.
func (p *parser) compile(node *yaml.Node, at string, scope expression.Scope) (*expression.Program, *source) {
	text, shift := expression.Unwrap(node.Value)
	where := p.source(node, at, shift)
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
		p.add(fault.YAMLSchemaViolation, at, node, "%s must be an expression", at)
		return nil, where
	}
	key := scope.Item + "\x00" + strconv.FormatBool(scope.Result) + strconv.FormatBool(scope.Outcome) + "\x00" + text
	if program, ok := p.programs[key]; ok {
		return program, where
	}
	program, err := expression.Compile(text, scope)
	if p.cutByComment(node, at, err != nil) {
		return nil, where
	}
	if err != nil {
		p.diagnostics = append(p.diagnostics, where.diagnostic(err))
		return nil, where
	}
	p.programs[key] = program
	return program, where
}

// cutByComment reports an expression whose rest YAML took for a comment: one
// that does not compile without it, or whose # does not look like a comment.
func (p *parser) cutByComment(node *yaml.Node, at string, broken bool) bool {
	comment := node.LineComment
	if comment == "" || node.Style != 0 {
		return false
	}
	if !broken && strings.HasPrefix(comment, "# ") {
		return false
	}
	p.addAt(fault.ExpressionError, at, p.source(node, at, 0).positionAt(len(node.Value)), "YAML takes %q for a comment and cuts the expression there: put the expression in quotes", fault.Cut(comment, 60))
	return true
}

package expression

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"savant/fault"
)

// null is a literal, which expr-lang calls nil.
const null = "null"

// foreign are literals of other languages, with ours.
var foreign = map[string]string{
	"True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
	"None": "null", "NULL": "null", "Null": "null", "undefined": "null",
	"yes": "true", "Yes": "true", "on": "true", "no": "false", "No": "false", "off": "false",
}

// known says where a root is available that is not available everywhere.
var known = map[string]string{rootResult: "extract", rootLoop: "a step with foreach"}

// origin resolves the name an access starts with, and returns the remaining links. The
// path is nil if the name is invalid.
func (r *rewriter) origin(name *ast.IdentifierNode, links []Link, soft bool) (*path, []Link) {
	if r.scope.Roots != nil && r.scope.isRoot(name.Value) {
		return r.fromRule(name, links, soft)
	}
	if r.scope.isRoot(name.Value) {
		return r.fromRoot(name, links, soft)
	}
	return r.fromBareName(name, links, soft)
}

func (r *rewriter) fromRoot(name *ast.IdentifierNode, links []Link, soft bool) (*path, []Link) {
	root := name.Value
	key, constant := firstName(links)
	whole := root != rootState && root != rootSteps
	switch {
	case root == rootResult, whole && !constant:
		return r.read(name, root, "", links, soft), links
	case !constant:
		return r.unresolved(name, fmt.Sprintf("%s cannot be read as a whole: name the %s, as in %s.%s",
			root, singular(root), root, example(root)))
	case !r.scope.has(root, key):
		return r.unresolved(links[0].Key, r.notUnder(root, key))
	case root == rootSteps:
		return r.ofStep(name, key, links, soft)
	}
	return r.read(name, root, key, links[1:], soft), links[1:]
}

// ofStep resolves steps.A.FIELD.
func (r *rewriter) ofStep(name *ast.IdentifierNode, id string, links []Link, soft bool) (*path, []Link) {
	field, constant := firstName(links[1:])
	if !constant || !slices.Contains(stepFields, field) {
		at := links[min(len(links), 2)-1].Key
		message := fmt.Sprintf("a step has the fields %s: write %s", strings.Join(stepFields, ", "), qualifiedName(rootSteps, id)+".status")
		if nearest := fault.Nearest(field, stepFields); constant && nearest != "" {
			message = fmt.Sprintf("a step has no field %s: did you mean %s?", quote(field), qualifiedName(rootSteps, id)+"."+nearest)
		} else if constant {
			message += "; " + r.resultHint(id)
		}
		return r.unresolved(at, message)
	}
	resolved := r.read(name, rootSteps, id, links[2:], soft)
	resolved.field = field
	resolved.text += "." + field
	if last := len(r.references) - 1; last >= 0 {
		r.references[last].Field = field
	}
	return resolved, links[2:]
}

func (r *rewriter) fromBareName(name *ast.IdentifierNode, links []Link, soft bool) (*path, []Link) {
	meanings := r.scope.meanings(name.Value)
	switch len(meanings) {
	case 0:
		return r.unresolved(name, r.unknown(name.Value))
	case 1:
		root, field := meanings[0], name.Value
		if root == rootItem {
			field = ""
		}
		resolved := r.read(name, root, field, links, soft)
		resolved.text = name.Value
		return resolved, links
	default:
		r.fail(name, fault.AmbiguousName, r.ambiguous(name.Value, meanings))
		return nil, nil
	}
}

// read records a reference and returns the path that reads it.
func (r *rewriter) read(at *ast.IdentifierNode, root, name string, rest []Link, soft bool) *path {
	if len(rest) > 0 {
		soft = rest[0].Optional
	}
	r.refer(Reference{Root: root, Name: name, Soft: soft, Offset: r.offset(at)})
	if root == rootState && !soft && r.branches == 0 {
		r.certain = append(r.certain, name)
	}
	text := root
	if name != "" {
		text = qualifiedName(root, name)
	}
	return &path{root: root, name: name, soft: soft, text: text}
}

// resultHint explains how the result of a step is read, for messages.
func (r *rewriter) resultHint(id string) string {
	if capture := r.scope.Kept[id]; capture != "" {
		return fmt.Sprintf("the result of step %s is %s", quote(id), qualifiedName(rootState, capture))
	}
	return fmt.Sprintf("step %s keeps no result: give it capture_as: NAME and read state.NAME", quote(id))
}

// unresolved fails with UNRESOLVED_VAR; there is no path to read.
func (r *rewriter) unresolved(at ast.Node, message string) (*path, []Link) {
	r.fail(at, fault.UnresolvedVar, message)
	return nil, nil
}

// unknown explains why a bare name has no meaning.
func (r *rewriter) unknown(name string) string {
	if name == "$env" {
		return "there is no $env: name what is needed, as in params.x or state.a"
	}
	if literal, ok := foreign[name]; ok {
		return fmt.Sprintf("there is no name %s: write %s", quote(name), literal)
	}
	if known[name] != "" {
		return name + " is known only in " + known[name]
	}
	if _, ok := functions[name]; ok {
		return fmt.Sprintf("%s is a function: write %s(…)", name, name)
	}
	if r.scope.Steps[name] {
		return fmt.Sprintf("there is no name %s: %s", quote(name), r.resultHint(name))
	}
	if meant := fault.Nearest(name, r.scope.bareNames()); meant != "" {
		return fmt.Sprintf("there is no name %s: did you mean %s?", quote(name), r.spelled(meant))
	}
	if len(r.predicates) > 0 {
		return fmt.Sprintf("there is no name %s: a field of the item is .%s", quote(name), name)
	}
	return fmt.Sprintf("there is no name %s", quote(name))
}

// spelled returns how a name is written in a source.
func (r *rewriter) spelled(name string) string {
	if isIdentifier(name) {
		return name
	}
	if meanings := r.scope.meanings(name); len(meanings) > 0 && meanings[0] != rootItem {
		return qualifiedName(meanings[0], name)
	}
	return name
}

func (r *rewriter) notUnder(root, name string) string {
	if root == rootRun && outcomeNames[name] {
		return qualifiedName(root, name) + " is known only in a step with join: done"
	}
	message := fmt.Sprintf("there is no %s %s", singular(root), quote(name))
	if root == rootState && r.scope.Steps[name] {
		return message + ": " + r.resultHint(name)
	}
	names := r.scope.namesUnder(root)
	if meant := fault.Nearest(name, names); meant != "" {
		return message + ": did you mean " + qualifiedName(root, meant) + "?"
	}
	for _, other := range []string{rootState, rootParams} {
		if other != root && root != rootSteps && r.scope.names(other)[name] {
			return message + ": did you mean " + qualifiedName(other, name) + "?"
		}
	}
	return message
}

func (r *rewriter) ambiguous(name string, meanings []string) string {
	said := make([]string, len(meanings))
	fix := ""
	for i, root := range meanings {
		said[i] = article(root)
		if root != rootItem && fix == "" {
			fix = qualifiedName(root, name)
		}
	}
	return fmt.Sprintf("%s is %s: write %s", quote(name), strings.Join(said, " and "), fix)
}

// singular names one entry of a root, for messages.
func singular(root string) string {
	switch root {
	case rootParams:
		return "parameter"
	case rootState:
		return "capture"
	case rootSteps:
		return "step"
	default:
		return "field of " + root
	}
}

func example(root string) string {
	if root == rootSteps {
		return "build.status"
	}
	return "build"
}

// qualifiedName writes a name under a root: state.a, or state["a-b"].
func qualifiedName(root, name string) string {
	if isIdentifier(name) {
		return root + "." + name
	}
	return root + "[" + quote(name) + "]"
}

func isIdentifier(name string) bool {
	for i, char := range name {
		letter := char == '_' || 'a' <= char && char <= 'z' || 'A' <= char && char <= 'Z'
		if !letter && (i == 0 || char < '0' || '9' < char) {
			return false
		}
	}
	return name != ""
}

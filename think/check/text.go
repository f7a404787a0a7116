package check

import (
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/think/flow"
	"savant/think/flow/expression"
)

var (
	block       = pattern.Lazy(`\{%.*?%\}`)
	interpolate = pattern.Lazy(`\$\{\s*(([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z_][A-Za-z0-9_]*)*)`)
)

// leftAsText warns of placeholders of other languages, which are plain text here.
func (c *checker) leftAsText(value any, parts []expression.Part, path string, in scope) {
	words, ok := value.(string)
	if !ok || !strings.ContainsAny(words, "${") {
		return
	}
	within := func(offset int) bool {
		for _, part := range parts {
			if offset >= part.Offset && offset < part.Offset+len(part.Program.Source()) {
				return true
			}
		}
		return false
	}
	if at := block().FindStringIndex(words); at != nil && !within(at[0]) {
		c.atValue(fault.TemplateRenderError, warning, path, at[0], "%s stays text: there are no blocks; write a condition as {{ a ? b : c }}, and a loop with foreach or {{ join(map(…), …) }}",
			fault.Cut(words[at[0]:at[1]], 60))
	}
	if at := strings.Index(words, "${{"); at >= 0 && !within(at) {
		c.atValue(fault.TemplateRenderError, warning, path, at, "the $ of ${{ }} stays text: write {{ }}")
	}
	for _, match := range interpolate().FindAllStringSubmatchIndex(words, -1) {
		whole, name := words[match[2]:match[3]], words[match[4]:match[5]]
		if within(match[0]) || strings.ToUpper(name) == name && !c.names(name, in) {
			continue // what a shell would replace, as ${HOME}
		}
		c.atValue(fault.TemplateRenderError, warning, path, match[0], "${%s} stays text: write {{ %s }}", whole, whole)
		return
	}
}

// names reports whether a name is defined in a scope.
func (c *checker) names(name string, in scope) bool {
	return c.params[name] != nil || c.by[name] != nil || name == in.item
}

// leftInRationale warns of a template where none is rendered.
func (c *checker) leftInRationale(step *flow.Step) {
	if at := strings.Index(step.Rationale, "{{"); at >= 0 {
		c.atValue(fault.TemplateRenderError, warning, step.Path()+".rationale", at, "a rationale is not a template: {{ }} stays text")
	}
}

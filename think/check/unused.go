package check

import (
	"maps"
	"slices"
	"strings"

	"savant/fault"
)

// unused notes what the file declares and nothing reads.
func (c *checker) unused() {
	if !c.reads["params."] { // which reads them all
		for _, param := range c.w.Params {
			if !c.reads["params."+param.Name] {
				c.at(fault.UnresolvedVar, note, "params."+param.Name, "the parameter %q is never read", param.Name)
			}
		}
	}
	for _, step := range c.w.Steps {
		if step.CaptureAs != "" && !c.reads["state."+step.CaptureAs] {
			c.at(fault.UnresolvedVar, note, step.Path()+".capture_as", "the capture %q is never read", step.CaptureAs)
		}
	}
	used := map[string]bool{}
	for _, step := range c.w.Steps {
		if step.Schema != nil {
			c.use(step.Schema.Name(), step.Schema.JSON(), used)
		}
	}
	for _, param := range c.w.Params {
		c.use("", param.Schema, used)
	}
	for _, name := range slices.Sorted(maps.Keys(c.w.Schemas)) {
		if !used[name] {
			c.at(fault.SchemaNotFound, note, "schemas."+name, "the schema %q is never used", name)
		}
	}
}

// use notes the schemas that a schema leads to.
func (c *checker) use(name string, schema any, used map[string]bool) {
	if name != "" {
		if used[name] {
			return
		}
		used[name] = true
	}
	switch v := schema.(type) {
	case map[string]any:
		if reference, ok := v["$ref"].(string); ok {
			named, _, _ := strings.Cut(reference, "#")
			named = strings.TrimSuffix(named, ".json")
			if own, known := c.w.Schemas[named]; known {
				c.use(named, own, used)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.use("", v[key], used)
		}
	case []any:
		for _, each := range v {
			c.use("", each, used)
		}
	}
}

package guide

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/visible"
	"savant/think/flow"
	"savant/think/library"
)

// SkillMark is the key, in the metadata of a SKILL.md, that names the skill's workflow. A
// file with it is one that Savant wrote.
const SkillMark = "savant-workflow"

// maxSkillName and maxSkillText bound a skill's name and description, as the Agent Skills
// specification does.
const (
	maxSkillName = 64
	maxSkillText = 1024
)

// Skills returns a skill for each valid workflow of a library, in the order of names: when
// to use it, and that think.plan leads through it. A skill has none of the steps, so that
// nobody follows them without Savant.
func Skills(of *library.Library) ([]engines.Skill, error) {
	list, taken := []engines.Skill{}, map[string]bool{}
	for _, entry := range of.List() {
		if entry.Err != nil {
			continue
		}
		name := skillName(entry.Workflow.Name, taken)
		taken[name] = true
		skill, err := skillOf(name, entry)
		if err != nil {
			return nil, err
		}
		list = append(list, skill)
	}
	return list, nil
}

// skillName is the name of a workflow's skill: small letters, digits and single hyphens.
func skillName(workflow string, taken map[string]bool) string {
	words := strings.FieldsFunc(workflow, func(r rune) bool { return r == '_' || r == '-' })
	base := "savant-" + strings.Join(words, "-")
	for number := 1; ; number++ {
		end := ""
		if number > 1 {
			end = fmt.Sprintf("-%d", number)
		}
		if name := strings.TrimRight(base[:min(len(base), maxSkillName-len(end))], "-") + end; !taken[name] {
			return name
		}
	}
}

func skillOf(name string, entry library.Entry) (engines.Skill, error) {
	workflow := entry.Workflow
	about := strings.NewReplacer("<", "(", ">", ")").Replace(visible.Line(strings.Join(strings.Fields(workflow.Description), " ")))
	about = cmp.Or(about, "The procedure "+workflow.Name+".")
	if !strings.HasSuffix(about, ".") {
		about += "."
	}
	use := " Use this when the user asks for it or for what it does. Savant guides it step by step" + packageMark(entry) + "."
	about = fault.Cut(about, maxSkillText-len(use)-8) + use
	skill := engines.Skill{Name: name, Frontmatter: map[string]any{"name": name, "description": about, "metadata": map[string]any{SkillMark: workflow.Name}}}
	said, err := jsonvalue.Encode(about) // a JSON text is one of YAML
	if err != nil {
		return skill, fault.New(fault.Internal, "encoding a description: %w", err)
	}
	skill.Text = fmt.Sprintf("---\nname: %s\ndescription: %s\nmetadata:\n  %s: %s\n---\n\n", name, said, SkillMark, workflow.Name) + skillBody(workflow)
	return skill, nil
}

func skillBody(workflow *flow.Workflow) string {
	var text strings.Builder
	fmt.Fprintf(&text, `# Follow the workflow %[1]s with Savant

Do not carry this procedure out from memory. Savant issues its steps one at a time, checks each result, and keeps the record.

1. Call the tool think.plan of the MCP server savant with {"workflow": %[1]q, "params": {…}}. Clients list it as think_plan, or with a prefix.
2. Do exactly what the instruction in the reply says, and nothing else.
3. Call think.next with the step's whole result. Go on until the reply says that the run is done.
4. Where a step waits for a person, tell them, and end your turn. Only they can answer.

If there is no such tool, say so: the workflow cannot be followed without it.
`, workflow.Name)
	for i, param := range workflow.Params {
		if i == 0 {
			text.WriteString("\nParameters:\n\n")
		}
		needed := ""
		if param.Required {
			needed = " (required)"
		}
		fmt.Fprintf(&text, "- %s%s: %s\n", param.Name, needed, visible.Line(strings.Join(strings.Fields(param.Description), " ")))
	}
	return text.String()
}

func (c catalog) skills(context.Context) ([]engines.Skill, error) { return Skills(c.think.Library) }

// readSkill returns a SKILL.md by what follows skill:// in its address.
func (c catalog) readSkill(_ context.Context, rest string) (string, error) {
	all, err := Skills(c.think.Library)
	if err != nil {
		return "", err
	}
	for _, each := range all {
		if engines.SkillURI(each.Name) == skillPrefix+rest {
			return each.Text, nil
		}
	}
	return "", fault.New(fault.InvalidParams, "no resource %q", fault.Cut(skillPrefix+rest, 200))
}

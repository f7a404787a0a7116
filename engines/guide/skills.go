package guide

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"savant/engines"
	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
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
	list, twins := []engines.Skill{}, map[string]int{}
	for _, entry := range of.List() {
		if entry.Err == nil {
			twins[plainSkillName(entry.Workflow.Name)]++
		}
	}
	for _, entry := range of.List() {
		if entry.Err != nil {
			continue
		}
		name := entry.Workflow.Name
		skill, err := skillOf(skillName(name, twins[plainSkillName(name)] > 1), entry)
		if err != nil {
			return nil, err
		}
		list = append(list, skill)
	}
	return list, nil
}

// skillEnd is the end of the name of a skill that has a twin.
var skillEnd = pattern.Lazy(`-[0-9a-f]{12}$`)

// plainSkillName is the name of a workflow's skill: small letters, digits and single hyphens.
func plainSkillName(workflow string) string {
	words := strings.FieldsFunc(workflow, func(r rune) bool { return r == '_' || r == '-' })
	name := "savant-" + strings.Join(words, "-")
	return strings.TrimRight(name[:min(len(name), maxSkillName)], "-")
}

// skillName is the plain name, or for a workflow with a twin of the same plain name, one that
// no other workflow ever has. So a name means no other workflow while its own is there.
func skillName(workflow string, twin bool) string {
	name := plainSkillName(workflow)
	if !twin && !skillEnd().MatchString(name) {
		return name
	}
	end := "-" + jsonvalue.HexSum([]byte(workflow))[:12]
	return strings.TrimRight(name[:min(len(name), maxSkillName-len(end))], "-") + end
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
	skill.Text = fmt.Sprintf("---\nname: %s\ndescription: %s\nmetadata:\n  %s: %q\n---\n\n", name, said, SkillMark, workflow.Name) + skillBody(workflow)
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

package clientsetup

import (
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
)

// Skill is a file that a client reads when it needs it: NAME/SKILL.md in a folder of skills.
type Skill struct{ Name, Text string }

// skillFile is the name of a skill's file, and skillMark stands in those that Savant wrote.
const (
	skillFile = "SKILL.md"
	skillMark = "\n  savant-workflow: "
)

// ReadsSkills reports whether the client reads a folder of skills.
func (c Client) ReadsSkills() bool { return c.skills != nil }

// Skills returns the changes that make the folder of the client have these skills of Savant,
// and no others: none for a client that reads no folder. Skills of others stay. The errors
// are those of Setup.
func (c Client) Skills(t Target, skills []Skill) ([]Change, error) {
	if c.skills == nil || t.Project != "" && !c.projects {
		return nil, nil
	}
	project, err := t.realProject()
	if err != nil {
		return nil, err
	}
	folder := c.skills(t)
	old, err := filepath.Glob(filepath.Join(escaped(folder), "*", skillFile))
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%s: %w", folder, err)
	}
	var list []Change
	for _, each := range skills {
		path := filepath.Join(folder, each.Name, skillFile)
		old = slices.DeleteFunc(old, func(other string) bool { return other == path })
		now, err := read(path, project)
		if err != nil {
			return nil, err
		}
		if now.Existed && !ownSkill(now.Before) {
			return nil, refused(path, fault.New(fault.InvalidParams, "Savant did not write this file; move it away"))
		}
		now.alone, now.After = true, []byte(each.Text)
		list = append(list, now)
	}
	for _, path := range old {
		now, err := read(path, project)
		if err != nil || !ownSkill(now.Before) {
			continue // it is of somebody else
		}
		now.alone, now.Gone = true, true
		list = append(list, now)
	}
	return list, nil
}

func ownSkill(text []byte) bool {
	front, _, _ := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
	return strings.Contains(front+"\n", skillMark)
}

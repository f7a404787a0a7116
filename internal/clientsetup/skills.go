package clientsetup

import (
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Skill is a file that a client reads when it needs it: NAME/SKILL.md in a folder of skills.
type Skill struct{ Name, Text string }

// skillFile is the name of a skill's file. skillMark stands in those that Savant wrote, and
// after it skillSeal, with the digest of all the rest: what a person edited has another one.
const (
	skillFile = "SKILL.md"
	skillMark = "\n  savant-workflow: "
	skillSeal = "\n  savant-digest: sha256:"
)

// SharesSkills returns the title of another client that Savant is set up for and that reads the
// same folder of skills; "" if there is no such client.
func (c Client) SharesSkills(t Target) string {
	for _, other := range table() {
		if c.skills == nil || other.skills == nil || other.Name == c.Name || other.skills(t) != c.skills(t) {
			continue
		}
		changes, err := other.Undo(t)
		if err == nil && slices.ContainsFunc(changes, Change.Changed) {
			return other.Title
		}
	}
	return ""
}

// Skills returns the changes that make the folder of the client have these skills of Savant,
// and no others: INVALID_PARAMS for a client that reads no folder. Skills of others stay, and so do
// those of Savant that a person edited: edited are their paths. The errors are those of Setup.
func (c Client) Skills(t Target, skills []Skill) (list []Change, edited []string, err error) {
	if c.skills == nil && len(skills) > 0 {
		return nil, nil, fault.New(fault.InvalidParams, "%s reads no folder of skills that Savant knows; leave out --skills", c.Title)
	}
	if c.skills == nil || t.Project != "" && !c.projects {
		return nil, nil, nil
	}
	project, err := t.realProject()
	if err != nil {
		return nil, nil, err
	}
	folder, texts := c.skills(t), map[string]string{}
	paths, err := filepath.Glob(filepath.Join(escaped(folder), "*", skillFile))
	if err != nil {
		return nil, nil, fault.New(fault.InvalidParams, "%s: %w", folder, err)
	}
	for _, each := range skills {
		path := filepath.Join(folder, each.Name, skillFile)
		texts[path], paths = each.Text, append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		text, wanted := texts[path]
		now, err := read(path, project)
		own, intact := sealOf(now.Before)
		switch {
		case !wanted && (err != nil || !own): // it is of somebody else
		case err != nil:
			return nil, nil, err
		case now.Existed && !own:
			return nil, nil, refused(path, fault.New(fault.InvalidParams, "Savant did not write this file; move it away"))
		case now.Existed && !intact && string(now.Before) != text:
			edited = append(edited, path)
		default:
			now.alone, now.Gone, now.After = true, !wanted, []byte(sealed(text))
			list = append(list, now)
		}
	}
	return list, edited, nil
}

// sealed is a skill's text with its seal.
func sealed(text string) string {
	before, after, _ := strings.Cut(text, skillMark)
	name, rest, _ := strings.Cut(after, "\n")
	return before + skillMark + name + skillSeal + jsonvalue.HexSum([]byte(text)) + "\n" + rest
}

// sealOf reports whether Savant wrote a file, and whether it is as it was written. Line ends
// do not count, since git may change them.
func sealOf(file []byte) (own, intact bool) {
	text := strings.ReplaceAll(string(file), "\r\n", "\n")
	front, _, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	before, after, found := strings.Cut(text, skillSeal)
	_, rest, _ := strings.Cut(after, "\n")
	return strings.Contains(front, skillMark), found && sealed(before+"\n"+rest) == text
}

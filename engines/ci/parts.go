package ci

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/internal/trust"
)

// Parts returns the commands in a folder's file as parts for a person to accept; none
// without a file.
func Parts(path string, readYAML ReadYAML) ([]trust.Part, error) {
	r := &runner{Options{Path: path, ReadYAML: readYAML}}
	src, err := r.text()
	if errors.Is(err, errNoFile) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	commands, err := r.read(src)
	return partsOf(commands), err
}

// PartsOf returns the parts in the text of a ci.yaml for a folder.
func PartsOf(path string, src []byte, readYAML ReadYAML) ([]trust.Part, error) {
	commands, err := (&runner{Options{Path: path, ReadYAML: readYAML}}).read(src)
	return partsOf(commands), err
}

func partsOf(commands map[string]command) []trust.Part {
	var parts []trust.Part
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		parts = append(parts, commands[name].part)
	}
	return parts
}

// lines formats a command for a person, who must see all that can run. Nothing is
// redacted: what looks like a secret may be a command.
func (c command) lines() []string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	line("runs %s", trust.CommandLine(c.argv...))
	if c.dir != "." {
		line("in %s", c.dir)
	}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		line("with %s=%s", name, c.env[name])
	}
	if names := c.inserted(); len(names) > 0 {
		line("reads from your environment %s", strings.Join(names, ", "))
	}
	if len(c.patterns) > 0 {
		line("with arguments of a model, %s", c.allowed())
	}
	return lines
}

// inserted are the names in ${NAME}, which come from Savant's environment.
func (c command) inserted() []string {
	var names []string
	for _, text := range c.env {
		for _, match := range reference().FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

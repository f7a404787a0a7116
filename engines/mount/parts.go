package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/regular"
	"savant/internal/trust"
)

// maxConfig is the maximum size of the file, in bytes.
const maxConfig = 1 << 20

// readConfig returns the text of the file of servers; "{}" if there is no file.
func readConfig(root *os.Root) ([]byte, error) {
	info, err := root.Stat(File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []byte("{}"), nil
	case err == nil && !info.Mode().IsRegular(): // a pipe would block
		return nil, fault.New(fault.InvalidParams, "%s: expected a file", File)
	case err == nil && info.Size() > maxConfig:
		return nil, fault.New(fault.LimitExceeded, "%s has more than %d bytes", File, maxConfig)
	}
	var data []byte
	if err == nil {
		data, err = regular.ReadFile(root, File, maxConfig)
	}
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%s cannot be read: %w", File, errors.Unwrap(err))
	}
	return data, nil
}

// configured returns the servers of a folder's file.
func configured(root *os.Root) ([]entry, error) {
	text, err := readConfig(root)
	if err != nil {
		return nil, err
	}
	return entries(text)
}

// Parts returns the servers of a folder's file as parts for a person to accept, without
// those that are wrong or disabled. It starts nothing.
func Parts(root *os.Root) ([]trust.Part, error) {
	all, err := configured(root)
	if err != nil {
		return nil, err
	}
	var parts []trust.Part
	for _, each := range all {
		if each.wrong != nil || each.disabled {
			continue
		}
		part, err := each.part(root.Name())
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// Part returns a server as a part for a person to accept, and why it may not be
// started, or nil.
func (m *Mounts) Part(name string) (part trust.Part, refused error, err error) {
	s, err := m.server(name)
	if err != nil {
		return part, nil, err
	}
	if s.entry.wrong != nil {
		return part, nil, s.entry.wrong
	}
	if part, err = s.entry.part(m.options.Path); err != nil {
		return part, nil, err
	}
	return part, m.options.Trust.Require(part), nil
}

// part describes the server for acceptance: how it is started or reached, its
// environment, and which of its tools are offered.
func (e *entry) part(folder string) (trust.Part, error) {
	content := map[string]any{"command": e.command, "args": append([]string{}, e.args...), "cwd": e.dir, "url": e.url,
		"env": texts(e.env), "headers": texts(e.headers), "allow": append([]string{}, e.allow...), "deny": append([]string{}, e.deny...)}
	part, err := trust.NewPart(trust.Server, e.name, File, content, e.lines()...)
	if err != nil || e.command == "" {
		return part, err
	}
	return part.WithPrograms(e.invocation(folder).Programs()), nil
}

// invocation is how the server is started, as far as its variables are known.
func (e *entry) invocation(folder string) trust.Invocation {
	x := &expansion{lookup: os.LookupEnv}
	started := trust.Invocation{Folder: folder, Dir: x.text(e.dir), Words: []string{x.text(e.command)}}
	for _, each := range e.args {
		started.Words = append(started.Words, x.text(each))
	}
	for _, each := range e.env {
		started.Env = append(started.Env, x.text(each))
	}
	return started
}

func texts(given map[string]string) map[string]string {
	made := map[string]string{}
	maps.Copy(made, given)
	return made
}

// lines formats the server for a person, who must see all that the file says. Nothing
// is redacted: what looks like a secret may be a command.
func (e *entry) lines() []string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if e.command != "" {
		line("starts %s", trust.CommandLine(append([]string{e.command}, e.args...)...))
	}
	if e.dir != "" {
		line("in %s", e.dir)
	}
	if e.url != "" {
		line("sends to %s", e.url)
		if address, err := url.Parse(e.url); err == nil && address.Host != "" {
			line("host %s", address.Host)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.env)) {
		line("with %s=%s", name, e.env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(e.headers)) {
		line("with the header %s: %s", name, e.headers[name])
	}
	if names := e.variables(); len(names) > 0 {
		line("reads from your environment %s", strings.Join(names, ", "))
	}
	if e.allow != nil {
		line("offers only the tools %s", strings.Join(e.allow, ", "))
	}
	if len(e.deny) > 0 {
		line("hides the tools %s", strings.Join(e.deny, ", "))
	}
	return lines
}

// variables are the names in ${NAME}, which come from the environment.
func (e *entry) variables() []string {
	given := slices.Concat([]string{e.command, e.dir, e.url}, e.args, slices.Collect(maps.Values(e.env)), slices.Collect(maps.Values(e.headers)))
	var names []string
	for _, text := range given {
		for _, found := range variable().FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(found[1], ":-")
			names = append(names, strings.TrimPrefix(name, "env:"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

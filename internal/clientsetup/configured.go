package clientsetup

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/configedit"
)

// Command is a command in a client's configuration.
type Command struct {
	Words []string
	// Line is set instead of Words if the client runs it through a shell.
	Line string
	Env  map[string]string
	// Own reports whether Setup would write the command, apart from values of its variables.
	// Another one must not be started: a file may have come with a folder.
	Own bool
	// Added are the variables of a command that is otherwise one that Setup would write: Setup
	// keeps what a person added.
	Added []string
}

// None reports whether nothing is configured.
func (c Command) None() bool { return len(c.Words) == 0 && c.Line == "" }

// compare says how the command differs from the one that Setup would write.
func (c *Command) compare(own Command) {
	if c.None() || !slices.Equal(c.Words, own.Words) || c.Line != own.Line {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if _, known := own.Env[name]; !known {
			c.Added = append(c.Added, name)
		}
	}
	c.Own = len(c.Added) == 0
}

// Configured is the state of Savant in a client's configuration.
type Configured struct {
	Server, Hook Command
	// Missing are the files that lack an entry, or have a different one than Setup would
	// write.
	Missing []string
}

// Configured reads the client's files, with the errors of Setup.
func (c Client) Configured(t Target) (Configured, error) {
	var found Configured
	changes, err := c.Setup(t)
	if err != nil {
		return found, err
	}
	files, err := c.wantedFiles(t)
	if err != nil {
		return found, err
	}
	var own Configured
	for i, change := range changes {
		if change.Changed() {
			found.Missing = append(found.Missing, change.Path)
		}
		fresh, err := files[i].fresh()
		if err == nil {
			err = own.read(files[i], fresh)
		}
		if err != nil {
			return found, err
		}
		if !change.Existed {
			continue
		}
		if err := found.read(files[i], change.Before); err != nil {
			return found, refused(change.Path, err)
		}
	}
	found.Server.compare(own.Server)
	found.Hook.compare(own.Hook)
	return found, nil
}

// fresh returns the file that Setup writes if there is none.
func (w wantedFile) fresh() ([]byte, error) {
	if w.whole != "" {
		return []byte(w.whole), nil
	}
	return configedit.Set(nil, w.format, w.entries)
}

// hasOwn reports whether a text has an entry that a set-up wrote, by whichever program.
func (w wantedFile) hasOwn(text []byte) bool {
	return slices.ContainsFunc(w.entries, func(entry configedit.Entry) bool {
		value, ok, err := configedit.Get(text, w.format, entry.Path)
		switch {
		case err != nil || !ok || entry.Keep:
			return false
		case entry.Own != nil:
			return slices.ContainsFunc(listOf(value), entry.Own)
		}
		return isServer(value) || entry.Path[len(entry.Path)-1] != "savant" // a setting of an editor
	})
}

// isServer reports whether an entry is a server of Savant that is switched on.
func isServer(value any) bool {
	server, err := serverOf(value)
	object, _ := value.(map[string]any)
	return err == nil && server.Env["MCP_SERVICE"] != "" && object["disabled"] != true && object["enabled"] != false
}

func (f *Configured) read(w wantedFile, text []byte) error {
	if w.whole != "" {
		f.Hook = hookOfFile(string(text))
		return nil
	}
	for _, entry := range w.entries {
		value, ok, err := configedit.Get(text, w.format, entry.Path)
		if err != nil {
			return err
		}
		switch {
		case !ok || entry.Keep:
		case entry.Own == nil:
			if f.Server, err = serverOf(value); err != nil {
				return err
			}
		default:
			for _, element := range listOf(value) {
				if entry.Own(element) && f.Hook.None() {
					f.Hook = hookOf(element)
				}
			}
		}
	}
	return nil
}

func listOf(value any) []any {
	list, _ := value.([]any)
	return list
}

// serverOf parses the clients' forms of a server.
func serverOf(value any) (Command, error) {
	object, _ := value.(map[string]any)
	if below, ok := object["transport"].(map[string]any); ok {
		object = below
	}
	var made Command
	switch command := object["command"].(type) {
	case string:
		made.Words = append([]string{command}, texts(object["args"])...)
	case []any:
		made.Words = texts(command)
	default:
		return made, fault.New(fault.InvalidParams, "the entry of the server has no command")
	}
	made.Env = map[string]string{}
	for _, name := range []string{"env", "environment"} {
		env, _ := object[name].(map[string]any)
		for key, value := range env {
			if text, ok := value.(string); ok {
				made.Env[key] = text
			}
		}
	}
	return made, nil
}

// hookOf finds the command in a hook's entry.
func hookOf(value any) Command {
	switch v := value.(type) {
	case []any:
		for _, each := range v {
			if found := hookOf(each); !found.None() {
				return found
			}
		}
	case map[string]any:
		for _, key := range []string{"command", "bash"} {
			line, ok := v[key].(string)
			if args := texts(v["args"]); ok && len(args) > 0 {
				return Command{Words: append([]string{line}, args...)}
			}
			if ok {
				return Command{Line: line}
			}
		}
		for _, key := range []string{"hooks", "action", "preToolUse", "PreToolUse"} {
			if found := hookOf(v[key]); !found.None() {
				return found
			}
		}
	}
	return Command{}
}

// hookOfFile finds the command in a file owned by Savant: a plugin, or hooks as JSON.
func hookOfFile(text string) Command {
	if _, rest, ok := strings.Cut(text, "const COMMAND = "); ok {
		line, _, _ := strings.Cut(rest, "\n")
		var words []string
		if json.Unmarshal([]byte(strings.TrimRight(line, "; \r")), &words) == nil {
			return Command{Words: words}
		}
		return Command{}
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return Command{}
	}
	return hookOf(value)
}

package clientsetup

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/configedit"
	"savant/think/gate/clients"
)

// Client is a program that Savant can be set up for.
type Client struct {
	Name, Title string
	// Hooks reports whether the client has hooks that Savant can use.
	Hooks bool
	// Notes are hints for the person after the set-up.
	Notes []string
	// home are folders or files below the home folder whose existence shows that the client
	// is installed.
	home []string
	// files returns its configuration files: those of the target's project, or the person's
	// own. projects reports whether there are any for a project.
	files    func(Target) []wantedFile
	projects bool
	// skills returns the folder of skills that the client reads; nil: it reads none.
	skills func(Target) string
	// Limits are ways in which the client goes on without the hooks, which no file shows.
	Limits []string
	// places are the files with settings that can switch Savant off; nil if none are
	// known.
	places func(Target) []settingsFile
}

// wantedFile is a file with its wanted content: entries, or the whole text.
type wantedFile struct {
	path    string
	format  configedit.Format
	entries []configedit.Entry
	whole   string
	client  string // of a whole file with hooks
	mark    string // of another whole file: a text that only Savant's has
	// generated: the content is the program's own, which nobody has to read.
	generated bool
}

// isOwn reports whether Savant wrote a whole file.
func (w wantedFile) isOwn(t Target, text []byte) bool {
	if w.mark != "" {
		return strings.Contains(string(text), w.mark)
	}
	return t.isOwn(strings.ReplaceAll(string(text), `","`, " "), w.client)
}

// All are the clients, in the order of the table in docs/enforcement.md.
func All() []Client { return table() }

// Find returns the client of a name. INVALID_PARAMS with the nearest for an unknown one.
func Find(name string) (Client, error) { return named("client", table(), name) }

// named returns the client of a list that has the name.
func named(kind string, list []Client, name string) (Client, error) {
	if i := slices.IndexFunc(list, func(c Client) bool { return c.Name == name }); i >= 0 {
		return list[i], nil
	}
	known := namesOf(list)
	return Client{}, fault.New(fault.InvalidParams, "there is no %s %q; the %[1]ss are %[3]s", kind, fault.Cut(name, 50), strings.Join(known, ", ")).Hinted(fault.HintOf(name, known))
}

// Names are the names of all clients.
func Names() []string { return namesOf(table()) }

func namesOf(list []Client) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// Projects reports whether the client has a configuration per project.
func (c Client) Projects() bool { return c.projects }

// wantedFiles returns the client's files with their wanted content.
func (c Client) wantedFiles(t Target) ([]wantedFile, error) {
	if t.Project != "" && !c.projects {
		return nil, fault.New(fault.InvalidParams, "%s has no configuration per project; leave out --project", c.Title)
	}
	return c.files(t), nil
}

// Found returns the existing paths of Client.home.
func (c Client) Found(t Target, exists func(string) bool) []string {
	var found []string
	for _, name := range c.home {
		if path := filepath.Join(t.Home, filepath.FromSlash(name)); exists(path) {
			found = append(found, path)
		}
	}
	return found
}

// server is an MCP server in the form of most clients. The fields are in the order of
// the file.
type server struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Tools   []string          `json:"tools,omitempty"`
	Timeout int               `json:"timeout,omitempty"`
}

// environment returns the server's variables: MCP_SERVICE, and SAVANT_PATH if path is
// set.
func (t Target) environment(path string) map[string]string {
	env := map[string]string{"MCP_SERVICE": t.Service}
	if path != "" {
		env["SAVANT_PATH"] = path
	}
	return env
}

func (t Target) server(kind, path string) server {
	return server{Type: kind, Command: t.Program, Args: []string{"mcp"}, Env: t.environment(path)}
}

// entry is the server's place in a file.
func entry(value any, path ...string) []configedit.Entry {
	return []configedit.Entry{{Path: path, Value: value}}
}

// TemporaryReason says why the program will not stay where it is: it lies below a temporary folder,
// unless that has the person's home, or in a folder of a Go module or a repository, for
// builds; "" for one that is installed.
func (t Target) TemporaryReason() string {
	folder := filepath.Dir(t.Program)
	within := func(parent string) bool {
		below, err := filepath.Rel(parent, folder)
		return err == nil && filepath.IsLocal(below)
	}
	if slices.ContainsFunc([]string{os.TempDir(), "/tmp", "/var/tmp"}, within) && !within(t.Home) {
		return "a temporary folder"
	}
	for _, sign := range []string{"go.mod", ".git"} {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(folder), sign)); err == nil && filepath.Dir(folder) != t.Home {
			return "a folder of builds"
		}
	}
	return ""
}

// HookLine is the shell command of a hook for an event; see clients.Client.Line.
func (t Target) HookLine(client, event string, more ...string) string {
	program := shellQuote(t.Program, t.OS)
	row, err := clients.Find(client)
	if t.OS == "windows" || err != nil { // every client with hooks has a row
		return strings.Join(append([]string{program, "hook", client}, more...), " ")
	}
	return row.Line(program, event, more...)
}

// IsHookLine reports whether a line is one of HookLine, or the plain one of earlier set-ups.
func (t Target) IsHookLine(client, line string) bool {
	row, err := clients.Find(client)
	return err == nil && (line == shellQuote(t.Program, t.OS)+" hook "+client ||
		slices.ContainsFunc(row.Expected(), func(event string) bool { return line == t.HookLine(client, event) }))
}

// shellQuote is a program's path for a shell.
func shellQuote(path, system string) string {
	if !strings.ContainsAny(path, " '\"$`\\&;()<>|*?[]#~=%!{}") || system == "windows" && !strings.ContainsAny(path, " &()^") {
		return path
	}
	if system == "windows" {
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// hookEntries are hooks by event, each an element of the event's array.
func (t Target) hookEntries(client string, byEvent map[string]any, path ...string) []configedit.Entry {
	var list []configedit.Entry
	for _, event := range slices.Sorted(maps.Keys(byEvent)) {
		list = append(list, configedit.Entry{Path: append(slices.Clone(path), event), Value: byEvent[event],
			Own: func(element any) bool { return t.isHook(element, client) }})
	}
	return list
}

// isHook reports whether a value runs `savant hook CLIENT`, as a line or as words.
func (t Target) isHook(value any, client string) bool {
	return t.isOwn(strings.Join(texts(value), " ")+" ", client+" ")
}

// isOwn reports whether a text contains this program, or one called savant, with its
// hook.
func (t Target) isOwn(text, client string) bool {
	return (strings.Contains(text, "savant") || strings.Contains(text, t.Program)) && strings.Contains(text, "hook "+client)
}

// texts are the strings in a value, in the order of arrays and of keys.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, each := range v {
			list = append(list, texts(each)...)
		}
		return list
	case map[string]any:
		var list []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, texts(v[key])...)
		}
		return list
	}
	return nil
}

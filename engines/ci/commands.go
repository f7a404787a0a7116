package ci

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/fields"
	"savant/internal/jsonvalue"
	"savant/internal/regular"
	"savant/internal/trust"
)

// Limits of ci.yaml and of a caller's arguments.
const (
	maxFile        = 256 << 10
	maxArgs        = 64
	maxArg         = 4 << 10
	defaultTimeout = 10 * time.Minute
	maxTimeout     = 24 * time.Hour
)

// command is one validated row of ci.yaml.
type command struct {
	name     string
	argv     []string // with the program first
	dir      string   // relative to SAVANT_PATH; "." by default
	env      map[string]string
	timeout  time.Duration
	patterns []*regexp.Regexp
	parser   string
	report   string // path or glob of a JUnit report below dir
	// part is the row as presented to a person for acceptance.
	part   trust.Part
	digest string // of the row as written
	file   string // the SHA-256 of ci.yaml
}

// load reads the current ci.yaml, which may change while a server runs.
func (r *runner) load() (map[string]command, error) {
	src, err := r.text()
	if errors.Is(err, errNoFile) {
		return nil, fault.New(fault.EngineOffline, "there is no %s; it names the commands that may run, and `savant init` writes it", File)
	}
	if err != nil {
		return nil, err
	}
	return r.read(src)
}

// errNoFile means that the folder has no ci.yaml.
var errNoFile = errors.New("there is no " + File)

// text returns the text of ci.yaml, or errNoFile.
func (r *runner) text() ([]byte, error) {
	root, err := r.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	src, err := source(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoFile
	case err != nil:
		return nil, fault.New(fault.EngineOffline, "%s cannot be read; it must be a file inside SAVANT_PATH: %w", File, err)
	case len(src) > maxFile:
		return nil, fault.New(fault.LimitExceeded, "%s is larger than %d bytes", File, maxFile)
	}
	return src, nil
}

// read returns the commands of a ci.yaml.
func (r *runner) read(src []byte) (map[string]command, error) {
	value, places, err := r.ReadYAML(File, src)
	if err != nil {
		return nil, err
	}
	reader := &settingsReader{fields.Reader{File: File, Code: fault.YAMLSchemaViolation, Places: places}, jsonvalue.HexSum(src)}
	commands := reader.commands(value)
	for name, each := range commands {
		commands[name] = r.withPrograms(each)
	}
	return commands, reader.Failure()
}

// withPrograms adds the programs of the folder that a command starts to what a person
// accepts, and to its digest apart from those that they excepted.
func (r *runner) withPrograms(c command) command {
	started := trust.Invocation{Folder: r.Path, Dir: c.dir, Words: c.argv, Env: slices.Collect(maps.Values(c.env))}
	programs := started.Programs()
	c.part = c.part.WithPrograms(programs)
	if pinned := r.Trust.Pinned(c.part); len(pinned) > 0 {
		c.digest, _ = jsonvalue.Digest(map[string]any{"command": c.digest, "programs": pinned}) // texts have a digest
	}
	return c
}

// Digests returns the current digests of the commands in ci.yaml by name, and that of
// the file under File; empty without a file. They correspond to those in a Report. An
// invalid file has no commands. Nothing is run.
func Digests(options Options) map[string]string {
	r := &runner{options}
	digests := map[string]string{File: ""}
	src, err := r.text()
	if err != nil {
		return digests
	}
	digests[File] = jsonvalue.HexSum(src)
	commands, err := r.read(src)
	if err != nil {
		return digests
	}
	for name, each := range commands {
		digests[name] = each.digest
	}
	return digests
}

// Names returns the names of the commands in ci.yaml, sorted, if every command is
// accepted; none of a file that is missing, invalid, or not trusted as a whole.
func Names(options Options) []string {
	r := &runner{options}
	commands, err := r.load()
	if err != nil {
		return nil
	}
	for _, each := range commands {
		if options.Trust.Require(each.part) != nil {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(commands))
}

// root opens SAVANT_PATH, which may have been moved since the start.
func (r *runner) root() (*os.Root, error) {
	root, err := regular.OpenFolder(r.Path)
	if err != nil { // without the path, which clients need not know
		return nil, fault.New(fault.EngineOffline, "the folder of SAVANT_PATH cannot be opened: %w; put it back, or start Savant with its new path", fault.WithoutPath(err))
	}
	return root, nil
}

func source(root *os.Root) ([]byte, error) {
	file, err := regular.Open(root, File, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

func reason(err error) string { return fault.From(err).Message() }

// choose returns a command by name; its INVALID_PARAMS lists the known names.
func choose(commands map[string]command, name string) (command, error) {
	if found, ok := commands[name]; ok {
		return found, nil
	}
	known := slices.Sorted(maps.Keys(commands))
	return command{}, fault.New(fault.InvalidParams, "%s names no command %q%s", File, fault.Cut(name, 100), fields.Nearest(name, known)).
		With(fault.Diagnostic{Path: "name", Expected: "one of " + strings.Join(known, ", "), Actual: name, Message: "no such command"})
}

// allows validates a caller's arguments: each must match one of the command's patterns
// as a whole.
func (c command) allows(args []string) error {
	if len(args) > maxArgs {
		return fault.New(fault.LimitExceeded, "args: %d arguments; at most %d are allowed", len(args), maxArgs)
	}
	for i, arg := range args {
		if len(arg) > maxArg || strings.ContainsRune(arg, 0) || !c.matches(arg) {
			return fault.New(fault.InvalidParams, "args[%d]: %q is not allowed for %s: %s", i, fault.Cut(arg, 200), c.name, c.allowed()).
				With(fault.Diagnostic{Path: fmt.Sprintf("args[%d]", i), Expected: c.allowed(), Actual: fault.Cut(arg, 200), Message: File + " does not allow this argument"})
		}
	}
	return nil
}

func (c command) matches(arg string) bool {
	return slices.ContainsFunc(c.patterns, func(p *regexp.Regexp) bool { return p.MatchString(arg) })
}

func (c command) allowed() string {
	if len(c.patterns) == 0 {
		return "it takes no arguments"
	}
	var written []string
	for _, pattern := range c.patterns {
		written = append(written, strings.TrimSuffix(strings.TrimPrefix(pattern.String(), wholeBegin), wholeEnd))
	}
	return "each must match one of " + strings.Join(written, "  ")
}

// A pattern must match the whole argument.
const (
	wholeBegin = `\A(?:`
	wholeEnd   = `)\z`
)

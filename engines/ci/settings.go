package ci

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/internal/trust"
)

// settingsReader validates the values of ci.yaml and collects all errors.
type settingsReader struct {
	places      fault.Places
	diagnostics []fault.Diagnostic
	file        string // the SHA-256 of the file
}

var (
	commandName  = pattern.Lazy(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	variableName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// The keys of a command.
const (
	keyCommand = "command"
	keyDir     = "dir"
	keyEnv     = "env"
	keyTimeout = "timeout"
	keyArgs    = "args"
	keyParser  = "parser"
	keyReport  = "report"
)

// commandKeys returns the keys of a command, for messages.
func commandKeys() []string {
	return []string{keyCommand, keyDir, keyEnv, keyTimeout, keyArgs, keyParser, keyReport}
}

func fileKeys() []string { return []string{"commands"} }

// Keys returns the keys that the file may have, by the kind of map.
func Keys() map[string][]string {
	return map[string][]string{"file": fileKeys(), "command": commandKeys()}
}

// wrong records an error at a path. An error about a missing value has the position of
// the enclosing value.
func (s *settingsReader) wrong(where, format string, args ...any) {
	at := s.places.Around(where)
	s.diagnostics = append(s.diagnostics, fault.Diagnostic{File: File, Path: where, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)})
}

// failure returns the errors in the order of the file, or nil.
func (s *settingsReader) failure() error {
	if len(s.diagnostics) == 0 {
		return nil
	}
	slices.SortStableFunc(s.diagnostics, func(a, b fault.Diagnostic) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	first := s.diagnostics[0]
	details := fmt.Sprintf("%s:%d:%d: %s: %s", File, first.Line, first.Column, first.Path, first.Message)
	if more := len(s.diagnostics) - 1; more > 0 {
		details += fmt.Sprintf(" (and %d more)", more)
	}
	return fault.New(fault.YAMLSchemaViolation, "%s", details).With(s.diagnostics...)
}

// object returns the members of a value. It records an error if the value is not a
// mapping or has an unknown key.
func (s *settingsReader) object(value any, where string, known []string) map[string]any {
	members, ok := value.(map[string]any)
	if !ok {
		s.wrong(where, "expected a mapping, got %s", jsonvalue.Kind(value))
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if known == nil || slices.Contains(known, key) {
			continue
		}
		s.wrong(joinKey(where, key), "unknown key %q%s", fault.Cut(key, 80), nameHint(key, known))
	}
	return members
}

// nameHint returns the end of a message about an unknown name: the nearest name, and all
// known names.
func nameHint(name string, known []string) string {
	if near := fault.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q? Known: %s", near, strings.Join(known, ", "))
	}
	return "; known: " + strings.Join(known, ", ")
}

func joinKey(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

func (s *settingsReader) commands(value any) map[string]command {
	top := s.object(value, "", fileKeys())
	if top == nil {
		return nil
	}
	if _, given := top["commands"]; !given {
		s.wrong("", "the key commands is missing")
		return nil
	}
	rows := s.object(top["commands"], "commands", nil)
	commands := make(map[string]command, len(rows))
	for name, row := range rows {
		where := joinKey("commands", name)
		if !commandName().MatchString(name) {
			s.wrong(where, "a command's name is 1 to 64 letters, digits, _ . or -")
			continue
		}
		commands[name] = s.command(name, row, where)
	}
	return commands
}

func (s *settingsReader) command(name string, row any, where string) command {
	made := command{name: name, dir: ".", timeout: defaultTimeout, parser: parserNone, file: s.file}
	made.digest, _ = jsonvalue.Digest(row) // YAML that was decoded has a digest
	members := s.object(row, where, commandKeys())
	if members == nil {
		return made
	}
	made.argv = s.texts(members[keyCommand], joinKey(where, keyCommand))
	if len(made.argv) == 0 || made.argv[0] == "" {
		s.wrong(joinKey(where, keyCommand), "expected a list that begins with the program, as in [go, test, ./...]; no shell is started")
	}
	if value, given := members[keyDir]; given {
		made.dir = s.local(value, joinKey(where, keyDir))
	}
	if value, given := members[keyEnv]; given {
		made.env = s.variables(value, joinKey(where, keyEnv))
	}
	if value, given := members[keyTimeout]; given {
		made.timeout = s.duration(value, joinKey(where, keyTimeout))
	}
	if value, given := members[keyArgs]; given {
		made.patterns = s.patterns(value, joinKey(where, keyArgs))
	}
	s.parser(members, where, &made)
	var err error
	if made.part, err = trust.NewPart(trust.Command, name, File, members, made.lines()...); err != nil {
		s.wrong(where, "it has no digest")
	}
	return made
}

func (s *settingsReader) parser(members map[string]any, where string, into *command) {
	if value, given := members[keyParser]; given {
		into.parser, _ = value.(string)
		if !slices.Contains(parserNames(), into.parser) {
			s.wrong(joinKey(where, keyParser), "no parser is named %q%s", fault.Cut(into.parser, 80), nameHint(into.parser, parserNames()))
		}
	}
	value, given := members[keyReport]
	switch {
	case given && into.parser != parserJUnit:
		s.wrong(joinKey(where, keyReport), "only the parser junit reads a report")
	case given:
		into.report = s.local(value, joinKey(where, keyReport))
		if _, err := path.Match(into.report, ""); err != nil {
			s.wrong(joinKey(where, keyReport), "not a pattern of paths: %v", err)
		}
	case into.parser == parserJUnit:
		s.wrong(joinKey(where, keyParser), "junit needs report, the path of the XML that the command writes, relative to dir")
	}
}

// texts returns a list of strings.
func (s *settingsReader) texts(value any, where string) []string {
	list, ok := value.([]any)
	if !ok {
		if value != nil {
			s.wrong(where, "expected a list of texts, got %s", jsonvalue.Kind(value))
		}
		return nil
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			s.wrong(fmt.Sprintf("%s[%d]", where, i), "expected text, got %s: put it in quotes", jsonvalue.Kind(item))
		} else if strings.ContainsRune(texts[i], 0) {
			s.wrong(fmt.Sprintf("%s[%d]", where, i), "it must not contain a NUL")
		}
	}
	return texts
}

// local returns a relative path that does not leave its folder.
func (s *settingsReader) local(value any, where string) string {
	text, ok := value.(string)
	clean := path.Clean(text)
	if !ok || text == "" || !fs.ValidPath(clean) || strings.ContainsRune(text, 0) {
		s.wrong(where, "expected a relative path inside the folder, with slashes")
		return "."
	}
	return clean
}

func (s *settingsReader) variables(value any, where string) map[string]string {
	members := s.object(value, where, nil)
	env := make(map[string]string, len(members))
	for name, value := range members {
		text, ok := value.(string)
		switch {
		case !variableName().MatchString(name):
			s.wrong(joinKey(where, name), "not the name of a variable")
		case !ok:
			s.wrong(joinKey(where, name), "expected text, got %s: put it in quotes", jsonvalue.Kind(value))
		case strings.ContainsRune(text, 0):
			s.wrong(joinKey(where, name), "it must not contain a NUL")
		default:
			env[name] = text
		}
	}
	return env
}

func (s *settingsReader) duration(value any, where string) time.Duration {
	text, _ := value.(string)
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 || limit > maxTimeout {
		s.wrong(where, "expected a duration up to 24h, such as 90s or 10m")
		return defaultTimeout
	}
	return limit
}

func (s *settingsReader) patterns(value any, where string) []*regexp.Regexp {
	var patterns []*regexp.Regexp
	for i, text := range s.texts(value, where) {
		_, err := regexp.Compile(text) // compiled alone: the surrounding pattern must not repair it
		if err != nil {
			s.wrong(fmt.Sprintf("%s[%d]", where, i), "not a regular expression (RE2): %v", err)
			continue
		}
		patterns = append(patterns, regexp.MustCompile(wholeBegin+text+wholeEnd))
	}
	return patterns
}

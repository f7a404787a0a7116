package ci

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"savant/fault"
	"savant/internal/fields"
	"savant/internal/jsonvalue"
	"savant/internal/pattern"
	"savant/internal/trust"
)

// settingsReader validates the values of ci.yaml and collects all errors.
type settingsReader struct {
	fields.Reader
	file string // the SHA-256 of the file
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

func (s *settingsReader) commands(value any) map[string]command {
	top := s.Object(value, "", fileKeys()...)
	if _, given := top["commands"]; !given {
		s.Fail("", "the key commands is missing")
		return nil
	}
	rows := s.Members(top["commands"], "commands")
	commands := make(map[string]command, len(rows))
	for name, row := range rows {
		where := fields.Join("commands", name)
		if !commandName().MatchString(name) {
			s.Fail(where, "a command's name is 1 to 64 letters, digits, _ . or -")
			continue
		}
		commands[name] = s.command(name, row, where)
	}
	return commands
}

func (s *settingsReader) command(name string, row any, where string) command {
	made := command{name: name, dir: ".", timeout: defaultTimeout, parser: parserNone, file: s.file}
	made.digest, _ = jsonvalue.Digest(row) // YAML that was decoded has a digest
	members := s.Object(row, where, commandKeys()...)
	made.argv = s.texts(members[keyCommand], fields.Join(where, keyCommand))
	if len(made.argv) == 0 || made.argv[0] == "" {
		s.Fail(fields.Join(where, keyCommand), "expected a list that begins with the program, as in [go, test, ./...]; no shell is started")
	}
	if value, given := members[keyDir]; given {
		made.dir = s.local(value, fields.Join(where, keyDir))
	}
	if value, given := members[keyEnv]; given {
		made.env = s.variables(value, fields.Join(where, keyEnv))
	}
	if value, given := members[keyTimeout]; given {
		made.timeout = s.duration(value, fields.Join(where, keyTimeout))
	}
	if value, given := members[keyArgs]; given {
		made.patterns = s.patterns(value, fields.Join(where, keyArgs))
	}
	s.parser(members, where, &made)
	var err error
	if made.part, err = trust.NewPart(trust.Command, name, File, members, made.lines()...); err != nil {
		s.Fail(where, "it has no digest")
	}
	return made
}

func (s *settingsReader) parser(members map[string]any, where string, into *command) {
	if value, given := members[keyParser]; given {
		into.parser, _ = value.(string)
		if !slices.Contains(parserNames(), into.parser) {
			s.Fail(fields.Join(where, keyParser), "no parser is named %q%s", fault.Cut(into.parser, 80), fields.Nearest(into.parser, parserNames()))
		}
	}
	value, given := members[keyReport]
	switch {
	case given && into.parser != parserJUnit:
		s.Fail(fields.Join(where, keyReport), "only the parser junit reads a report")
	case given:
		into.report = s.local(value, fields.Join(where, keyReport))
		if _, err := path.Match(into.report, ""); err != nil {
			s.Fail(fields.Join(where, keyReport), "not a pattern of paths: %v", err)
		}
	case into.parser == parserJUnit:
		s.Fail(fields.Join(where, keyParser), "junit needs report, the path of the XML that the command writes, relative to dir")
	}
}

// texts returns a list of strings.
func (s *settingsReader) texts(value any, where string) []string {
	list, ok := value.([]any)
	if !ok {
		if value != nil {
			s.Fail(where, "expected a list of texts, got %s", jsonvalue.Kind(value))
		}
		return nil
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			s.Fail(fmt.Sprintf("%s[%d]", where, i), "expected text, got %s: put it in quotes", jsonvalue.Kind(item))
		} else if strings.ContainsRune(texts[i], 0) {
			s.Fail(fmt.Sprintf("%s[%d]", where, i), "it must not contain a NUL")
		}
	}
	return texts
}

// local returns a relative path that does not leave its folder.
func (s *settingsReader) local(value any, where string) string {
	text, ok := value.(string)
	clean := path.Clean(text)
	if !ok || text == "" || !fs.ValidPath(clean) || strings.ContainsRune(text, 0) {
		s.Fail(where, "expected a relative path inside the folder, with slashes")
		return "."
	}
	return clean
}

func (s *settingsReader) variables(value any, where string) map[string]string {
	members := s.Members(value, where)
	env := make(map[string]string, len(members))
	for name, value := range members {
		text, ok := value.(string)
		switch {
		case !variableName().MatchString(name):
			s.Fail(fields.Join(where, name), "not the name of a variable")
		case !ok:
			s.Fail(fields.Join(where, name), "expected text, got %s: put it in quotes", jsonvalue.Kind(value))
		case strings.ContainsRune(text, 0):
			s.Fail(fields.Join(where, name), "it must not contain a NUL")
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
		s.Fail(where, "expected a duration up to 24h, such as 90s or 10m")
		return defaultTimeout
	}
	return limit
}

func (s *settingsReader) patterns(value any, where string) []*regexp.Regexp {
	var patterns []*regexp.Regexp
	for i, text := range s.texts(value, where) {
		_, err := regexp.Compile(text) // compiled alone: the surrounding pattern must not repair it
		if err != nil {
			s.Fail(fmt.Sprintf("%s[%d]", where, i), "not a regular expression (RE2): %v", err)
			continue
		}
		patterns = append(patterns, regexp.MustCompile(wholeBegin+text+wholeEnd))
	}
	return patterns
}

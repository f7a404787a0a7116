package settings

import (
	"slices"

	"savant/internal/trust"
)

// Lookup returns the text that a source has for a row, and false if it has none.
type Lookup func(Setting) (string, bool)

// Loaded is the result of all sources.
type Loaded struct {
	Settings
	// Values are the effective values, in the order of the table.
	Values []Value
	// Secrets are the secrets of every source, also those that another source
	// overrides. They are redacted wherever text is shown.
	Secrets []string
	// Exposed: the file holds a secret, and others on the machine may read it.
	Exposed bool
	// Unused are the keys of the file that do not count for this folder.
	Unused []string
	// Found is the folder above the working folder that is SAVANT_PATH because
	// nothing named one; nil otherwise.
	Found *Found
	// Parts are the values of the file that need acceptance.
	Parts []trust.Part
	// Folder holds the answers about the folder of SAVANT_PATH.
	Folder *trust.Folder
}

// Trust returns the answers about the parts of the folder of SAVANT_PATH. digests are
// those of SAVANT_TRUST, parts those of its file of settings.
type Trust func(path string, digests []string, parts []trust.Part) *trust.Folder

// IsSet reports whether a setting, named by its variable, comes from a source other
// than its default. It is false for settings that were not loaded.
func (l *Loaded) IsSet(env string) bool {
	return l != nil && slices.ContainsFunc(l.Values, func(v Value) bool {
		return v.Setting.Env == env && v.Origin.Source != FromDefault
	})
}

// Load reads the table from its sources: a flag takes precedence over a variable, a
// variable over the file below SAVANT_PATH, and the file over the default. An empty
// variable counts as not set, since clients pass such variables. A guarded value of the
// file is ignored unless trusting accepts it. The error is an *Error for a flag or
// variable, and a *fault.Error with line and column for the file.
//
// If nothing sets SAVANT_PATH, it is the nearest folder with .savant, workflows/ or
// .git, from the working folder upward, else the working folder.
func Load(flag, env Lookup, trusting Trust) (*Loaded, error) {
	return load(flag, env, trusting, func(Setting) bool { return true })
}

// LoadFolder is Load for a folder of whoever has its token: of its file only the rows that
// are PerFolder count. Loaded.Unused names the others.
func LoadFolder(flag, env Lookup, trusting Trust) (*Loaded, error) {
	return load(flag, env, trusting, func(row Setting) bool { return row.PerFolder })
}

func load(flag, env Lookup, trusting Trust, counts func(Setting) bool) (*Loaded, error) {
	table := Table()
	given := &sources{flag: flag, env: env}
	at := slices.IndexFunc(table, func(row Setting) bool { return row.Env == EnvPath })
	if given.all(table[at])[0].Origin.Source == FromDefault {
		given.found = find()
	}
	early := new(Settings) // the settings that are needed to read the file
	for _, row := range table {
		if row.NotInFile == "" {
			continue
		}
		if err := row.check(early, given.all(row)[0].Text); err != nil {
			return nil, err
		}
	}
	var err error
	if given.file, err = readFile(early.Path, table); err != nil {
		return nil, err
	}
	loaded := &Loaded{Exposed: given.file.exposed, Found: given.found}
	for key, value := range given.file.values {
		if counts(value.Setting) {
			continue
		}
		loaded.Unused = append(loaded.Unused, key)
		if value.Setting.Secret && value.Text != "" {
			loaded.Secrets = append(loaded.Secrets, value.Text)
		}
		delete(given.file.values, key)
	}
	slices.Sort(loaded.Unused)
	guard := guard{path: early.Path, waiting: map[string]error{}, untrusted: map[string]error{}}
	if loaded.Parts, err = guard.parts(given, table); err != nil {
		return nil, err
	}
	loaded.Folder = trusting(early.Path, early.Trust, loaded.Parts)
	guard.folder = loaded.Folder
	for _, row := range table {
		all := given.all(row)
		value, err := guard.pass(all)
		if err != nil {
			return nil, err
		}
		if err := row.check(&loaded.Settings, value.Text); err != nil {
			return nil, err
		}
		loaded.Values = append(loaded.Values, value)
		for _, each := range all {
			if row.Secret && each.Text != "" {
				loaded.Secrets = append(loaded.Secrets, each.Text)
			}
		}
		if row.Env == EnvServices {
			loaded.Given = value.Origin.Source == FromFlag || value.Origin.Source == FromEnvironment
		}
	}
	if len(guard.untrusted) > 0 {
		loaded.Untrusted = guard.untrusted
	}
	loaded.Reasoning.Waiting = guard.decides(loaded.Reasoning)
	return loaded, nil
}

// sources are where values come from.
type sources struct {
	flag, env Lookup
	file      file
	found     *Found // in the place of the default of SAVANT_PATH
}

// all returns the values of a row from all sources, the effective one first.
func (s *sources) all(row Setting) []Value {
	var all []Value
	if text, ok := s.flag(row); ok {
		all = append(all, Value{Setting: row, Text: text, Origin: Origin{Source: FromFlag}})
	}
	for _, name := range []string{row.Env, row.FormerEnv} {
		if text, ok := s.variable(name); ok {
			all = append(all, Value{Setting: row, Text: text, Origin: Origin{Source: FromEnvironment, Name: name}})
		}
	}
	if value, ok := s.file.values[row.Key]; ok {
		all = append(all, value)
	}
	if row.Env == EnvPath && s.found != nil {
		all = append(all, Value{Setting: row, Text: s.found.relative(), Origin: Origin{Source: FromAbove, Name: s.found.Sign}})
	}
	all = append(all, Value{Setting: row, Text: row.Default, Origin: Origin{Source: FromDefault}})
	for i := range all {
		if row.normal != nil {
			all[i].Text = row.normal(all[i].Text)
		}
	}
	return all
}

// variable returns a variable by its name. An empty one counts as none.
func (s *sources) variable(name string) (string, bool) {
	if name == "" {
		return "", false
	}
	text, ok := s.env(Setting{Env: name})
	return text, ok && text != ""
}

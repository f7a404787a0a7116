package settings

import "slices"

// Lookup returns the text that a source has for a row, and false where it has
// none.
type Lookup func(Setting) (string, bool)

// Loaded is what the sources say together.
type Loaded struct {
	Settings
	// Values are what holds, in the order of the table.
	Values []Value
	// Secrets are the secrets of every source, also those that another source
	// overrides. They are redacted wherever text is shown.
	Secrets []string
	// Exposed: the file holds a secret, and others on the machine may read it.
	Exposed bool
}

// Chosen says whether a setting, named by its variable, is from any source but
// its default. Of settings that were not loaded none is.
func (l *Loaded) Chosen(env string) bool {
	return l != nil && slices.ContainsFunc(l.Values, func(v Value) bool {
		return v.Setting.Env == env && v.Origin.Source != FromDefault
	})
}

// Load reads the table from its sources: flags before variables before the
// file under SAVANT_PATH before defaults. An empty variable counts as none,
// since clients pass those on. The error is an *Error for a flag or variable,
// and a *fault.Error that names line and column for the file.
func Load(flag, env Lookup) (*Loaded, error) {
	table := Table()
	given := &sources{flag: flag, env: env}
	at := slices.IndexFunc(table, func(row Setting) bool { return row.Env == EnvPath })
	path := given.all(table[at])[0]
	if err := table[at].check(new(Settings), path.Text); err != nil {
		return nil, err
	}
	var err error
	if given.file, err = readFile(path.Text, table); err != nil {
		return nil, err
	}
	loaded := &Loaded{Exposed: given.file.exposed}
	for _, row := range table {
		all := given.all(row)
		value := all[0]
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
	if err := checkSecretTargets(loaded.Values, loaded.TrustedHosts); err != nil {
		return nil, err
	}
	return loaded, nil
}

// sources are where values come from.
type sources struct {
	flag, env Lookup
	file      file
}

// all returns every value that there is for a row, the one that holds first.
func (s *sources) all(row Setting) []Value {
	var all []Value
	if text, ok := s.flag(row); ok {
		all = append(all, Value{row, text, Origin{Source: FromFlag, Name: "--" + row.Flag}})
	}
	if text, ok := s.env(row); ok && text != "" {
		all = append(all, Value{row, text, Origin{Source: FromEnvironment, Name: row.Env}})
	}
	if held, ok := s.file.values[row.Key]; ok {
		all = append(all, held)
	}
	return append(all, Value{row, row.Default, Origin{Source: FromDefault}})
}

package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"savant/fault"
)

// Instead says how the setting is set that a flag, by its name without dashes, stands for or
// nearly does; "" for any other flag.
func Instead(flag string) string {
	key, name := keyNamed(Table(), flag)
	rest, begins := strings.CutPrefix(name, oneWord(flag))
	if key == "" || begins && rest != "" && rest[0] != '_' { // the beginning of a word stands for nothing
		return ""
	}
	return fmt.Sprintf("--%s is no flag: say --set %s=VALUE", flag, key)
}

func oneWord(name string) string {
	return strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToLower(name))
}

// keyNamed returns the Key of the setting that a name stands for or nearly does, and its name
// that is near: its Key, also only its end, its variable or its flag; "" for none.
func keyNamed(table []Setting, name string) (key, near string) {
	keys := map[string]string{}
	for _, row := range slices.Backward(table) { // of two with one name the first counts
		for _, each := range []string{row.Env, row.Flag, row.Key[strings.LastIndexByte(row.Key, '.')+1:], row.Key} {
			keys[oneWord(each)] = row.Key
		}
	}
	delete(keys, "") // of those without a flag
	near = fault.Nearest(oneWord(name), slices.Collect(maps.Keys(keys)))
	return keys[near], near
}

// Assignments reads KEY=VALUE, as --set takes it, by the Keys of settings; of two the
// last one counts. The error is INVALID_PARAMS.
func Assignments(texts []string) (map[string]string, error) {
	table := Table()
	values := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fault.New(fault.InvalidParams, "--set: expected KEY=VALUE, got %q", fault.Cut(text, maxShown))
		}
		parts := strings.Split(name, ".")
		for i, part := range parts {
			parts[i] = snake(part)
		}
		key := strings.Join(parts, ".")
		if !slices.ContainsFunc(table, func(row Setting) bool { return row.Key == key }) {
			said := fmt.Sprintf("--set: unknown key %q", fault.Cut(name, maxShown))
			if near, _ := keyNamed(table, key); near != "" {
				said += ", did you mean " + near + "?"
			}
			return nil, fault.New(fault.InvalidParams, "%s; savant help settings lists the keys", said)
		}
		values[key] = value
	}
	return values, nil
}

package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// maxWrong bounds what is said of one file.
const maxWrong = 20

// maxShown bounds what is shown of a name or value, in bytes.
const maxShown = 100

// schemaKey is what editors find the published schema by; it is no setting.
const schemaKey = "$schema"

// reader walks a file of settings that was parsed.
type reader struct {
	data   []byte
	folder string // SAVANT_PATH
	table  []Setting
	values map[string]Value
	wrong  []fault.Diagnostic
}

// object reads the members of an object; prefix is its Key with a point, empty
// for the whole file.
func (r *reader) object(prefix string, object jsonvalue.Node) {
	first := map[string]int{} // offset by name
	for _, member := range object.Members {
		if len(r.wrong) == maxWrong {
			return // also bounds the time: each line is counted from the beginning
		}
		name := snake(member.Name)
		if before, twice := first[name]; twice {
			line, _ := jsonvalue.Place(r.data, before)
			r.complain(member.Offset, prefix+member.Name, fmt.Sprintf("%q is there already, in line %d", fault.Cut(member.Name, maxShown), line))
		} else {
			first[name] = member.Offset
		}
		r.member(prefix, member)
	}
}

func (r *reader) member(prefix string, member jsonvalue.NodeMember) {
	key, value := prefix+snake(member.Name), member.Value
	row, isSetting := r.row(key)
	switch {
	case strings.Contains(member.Name, "."): // a Key in one word would pass for a nested one
		r.complain(member.Offset, key, r.unknown(prefix, member.Name))
	case isSetting && row.NotInFile != "":
		r.complain(member.Offset, key, fmt.Sprintf("%s %s, so it cannot be set here: use the variable %s or --set %s=VALUE", key, row.NotInFile, row.Env, row.Key))
	case isSetting:
		r.setting(row, value)
	case r.isBlock(key) && value.Raw[0] == '{':
		r.object(key+".", value)
	case r.isBlock(key):
		r.complain(value.Offset, key, key+": expected an object, got "+kindOf(value.Raw))
	case key == schemaKey && value.Raw[0] != '"':
		r.complain(value.Offset, key, key+": expected a text, got "+kindOf(value.Raw))
	case key != schemaKey:
		r.complain(member.Offset, key, r.unknown(prefix, member.Name))
	}
}

// setting reads the value of a row.
func (r *reader) setting(row Setting, value jsonvalue.Node) {
	text, wrong := row.text(value, r.folder)
	if wrong == nil {
		wrong = row.verify(text)
	}
	if wrong != nil {
		diagnostic := diagnose(r.data, value.Offset, row.Key, row.Key+": "+wrong.String())
		diagnostic.Expected, diagnostic.Actual = wrong.expected, wrong.got
		r.add(diagnostic)
		return
	}
	line, column := jsonvalue.Place(r.data, value.Offset)
	made := Value{Setting: row, Text: text, Origin: Origin{Source: FromFile, Name: FileName, Line: line, Column: column}}
	if row.Kind == Folders {
		made.written, _ = texts(value)
	}
	r.values[row.Key] = made
}

// verify says what is wrong with a text of the file; nil where it fits.
func (s Setting) verify(text string) *mismatch {
	expected := s.assign(new(Settings), text)
	if expected == "" {
		return nil
	}
	if s.Secret {
		text = ""
	}
	return &mismatch{expected, strconv.Quote(fault.Cut(text, maxShown))}
}

func (r *reader) row(key string) (Setting, bool) {
	at := slices.IndexFunc(r.table, func(row Setting) bool { return row.Key == key })
	if at < 0 {
		return Setting{}, false
	}
	return r.table[at], true
}

// snake writes a name in camelCase in snake_case: maxSteps and max_steps are one
// key. Any other name stays as it is.
func snake(name string) string {
	if strings.Contains(name, "_") || name == "" || !unicode.IsLower(rune(name[0])) {
		return name
	}
	var out strings.Builder
	runes := []rune(name)
	for i, each := range runes {
		if unicode.IsUpper(each) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(each))
	}
	return out.String()
}

// isBlock says whether settings are nested below a key.
func (r *reader) isBlock(key string) bool {
	return slices.ContainsFunc(r.table, func(row Setting) bool { return strings.HasPrefix(row.Key, key+".") })
}

func (r *reader) complain(at int, path, message string) {
	r.add(diagnose(r.data, at, fault.Cut(path, maxShown), message))
}

func (r *reader) add(wrong fault.Diagnostic) {
	if len(r.wrong) < maxWrong {
		r.wrong = append(r.wrong, wrong)
	}
}

// unknown says that there is no setting of this name, and which was meant.
func (r *reader) unknown(prefix, name string) string {
	message := fmt.Sprintf("unknown key %q", fault.Cut(prefix+name, maxShown))
	if nearest := fault.Nearest(name, r.names(prefix)); nearest != "" {
		return message + fmt.Sprintf(", did you mean %q?", prefix+nearest)
	}
	if elsewhere, _ := keyNamed(r.table, name); elsewhere != "" {
		return message + ", did you mean " + nested(elsewhere) + "?"
	}
	return message + ": expected one of " + strings.Join(r.names(prefix), ", ")
}

// nested writes a Key as the file has it.
func nested(key string) string {
	parts := strings.Split(key, ".")
	if len(parts) == 1 {
		return fmt.Sprintf("%q", key)
	}
	written := "…"
	for _, each := range slices.Backward(parts) {
		written = fmt.Sprintf("{%q: %s}", each, written)
	}
	return written
}

// names are the keys that an object may have.
func (r *reader) names(prefix string) []string {
	var names []string
	for _, row := range r.table {
		below, inside := strings.CutPrefix(row.Key, prefix)
		name, _, _ := strings.Cut(below, ".")
		if inside && row.NotInFile == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Kinds that kindOf returns.
const (
	aText    = "a text"
	aList    = "a list"
	aNumber  = "a number"
	aBoolean = "a boolean"
	anObject = "an object"
)

// kindOf names the type of a JSON value by how it begins.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '{':
		return anObject
	case '[':
		return aList
	case '"':
		return aText
	case 't', 'f':
		return aBoolean
	case 'n':
		return "null"
	}
	return aNumber
}

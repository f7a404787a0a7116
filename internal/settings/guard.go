package settings

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"savant/internal/trust"
)

// guard ignores the values of the file that no person has accepted.
type guard struct {
	path    string
	folder  *trust.Folder
	waiting map[string]error // by Key: why a value of the file is not used
	// untrusted are the folders outside SAVANT_PATH that git.* may not read.
	untrusted map[string]error
}

// parts returns the parts of the file that need acceptance.
func (g *guard) parts(given *sources, table []Setting) ([]trust.Part, error) {
	var parts []trust.Part
	for _, row := range table {
		for _, value := range given.all(row) {
			part, guarded, err := g.part(value)
			if err != nil {
				return nil, err
			}
			if guarded {
				parts = append(parts, part)
			}
		}
	}
	return parts, nil
}

// part returns a value of the file as a part, if it needs acceptance.
func (g *guard) part(value Value) (part trust.Part, guarded bool, err error) {
	row := value.Setting
	switch {
	case !row.Guarded || value.Origin.Source != FromFile || value.Text == "":
		return part, false, nil
	case row.Key == storeKey:
		if value.Text == StoreFile {
			return part, false, nil
		}
		part, err = trust.NewPart(trust.Setting, row.Key, FileName, value.Text, "keeps runs, with all their content, in a database: "+value.Text)
	case row.Kind == Folders:
		content, shown := g.outside(value)
		if len(content) == 0 {
			return part, false, nil
		}
		part, err = trust.NewPart(trust.Setting, row.Key, FileName, content, shown...)
	case row.Kind == Address:
		part, err = trust.NewPart(trust.Setting, row.Key, FileName, value.Text, "sends to "+value.Text, "host "+host(value.Text), "is the "+about(row))
		if secret := sentTo(row.Key); secret != "" {
			part.Shown = append(part.Shown, "and "+secret+", if it is set")
		}
	case row.Secret:
		part, err = trust.NewPart(trust.Setting, row.Key, FileName, value.Text, "requests use a key of this folder instead of yours", "is the key for "+row.SentTo)
	case row.Kind == Switch:
		part, err = trust.NewPart(trust.Setting, row.Key, FileName, value.Text, "is "+value.Text+": "+about(row))
	default:
		part, err = trust.NewPart(trust.Setting, row.Key, FileName, value.Text, "asks "+value.Text, "is the "+about(row))
	}
	return part, true, err
}

// about describes a setting, without its remarks.
func about(row Setting) string {
	head, _, _ := strings.Cut(row.Doc, ";")
	head, _, _ = strings.Cut(head, ",")
	return head
}

// outside returns the folders of a value that are not inside SAVANT_PATH, each as
// it is written and with what it leads to. A relative folder stays relative, so
// that the digest is the same wherever SAVANT_PATH is.
func (g *guard) outside(value Value) (content [][2]string, shown []string) {
	root := trust.Resolved(g.path)
	for i, folder := range value.Setting.list(value.Text) {
		target, inside := trust.Inside(g.path, folder)
		if inside {
			continue
		}
		written := folder
		if i < len(value.written) {
			written = value.written[i]
		}
		line := "reads " + written
		if target != written {
			line += ", which leads to " + target
		}
		if below, err := filepath.Rel(root, trust.Resolved(target)); err == nil && !filepath.IsAbs(written) {
			target = filepath.ToSlash(below)
		}
		content = append(content, [2]string{written, target})
		shown = append(shown, line)
	}
	return content, shown
}

// pass returns the effective value: the first of all, but a value of the file only if
// it was accepted.
func (g *guard) pass(all []Value) (Value, error) {
	value := all[0]
	part, guarded, err := g.part(value)
	if err != nil || !guarded {
		return value, err
	}
	refused := g.folder.Require(part)
	switch {
	case refused == nil:
		return value, nil
	case value.Setting.Kind == Folders:
		for _, folder := range value.Setting.list(value.Text) {
			if target, inside := trust.Inside(g.path, folder); !inside && value.Setting.Env == EnvGitRoots {
				g.untrusted[target] = refused
			}
		}
		value.Text = g.insideOnly(value)
		return value, nil
	}
	g.waiting[value.Setting.Key] = refused
	return all[1], nil
}

// decides returns why the models of the user's own settings may not be asked: the file
// changes their provider, address or key, and nobody accepted that. If Savant ignored
// the file here, it would ask another host than intended. Nil means that they may be
// asked. A service or model that only the file names is ignored like its other
// settings.
func (g *guard) decides(by Reasoning) error {
	var keys []string
	for _, model := range []string{by.SLM, by.LLM} {
		provider, _, _ := strings.Cut(model, ":")
		if model == "" {
			continue
		}
		if !slices.Contains(providerNames(), provider) {
			keys = append(keys, "llm.provider")
			provider = cmp.Or(by.Provider, providers[0].name)
		}
		keys = append(keys, addressKey(provider))
		if by.Service(provider).Key == "" {
			keys = append(keys, "llm."+provider+"_key")
		}
	}
	if by.URL != "" {
		keys = nil
	}
	for _, key := range keys {
		if refused := g.waiting[key]; refused != nil {
			return refused
		}
	}
	return nil
}

// insideOnly returns a list of folders without those outside SAVANT_PATH.
func (g *guard) insideOnly(value Value) string {
	return strings.Join(slices.DeleteFunc(value.Setting.list(value.Text), func(folder string) bool {
		_, inside := trust.Inside(g.path, folder)
		return !inside
	}), listSeparator)
}

// sentTo returns the variable of the secret that is sent to an address, or "".
func sentTo(key string) string {
	for _, row := range Table() {
		if row.SentTo == key {
			return row.Env
		}
	}
	return ""
}

// host returns the host of an address, without a scheme.
func host(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" {
		return "unknown"
	}
	return parsed.Host
}

// addressKey is the setting with the address of a provider of models.
func addressKey(name string) string {
	for _, each := range providers {
		if each.name == name {
			return each.address.Key
		}
	}
	return ""
}

package mount

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/redact"
)

// launch is how a server is reached, with variables expanded. It contains secrets.
type launch struct {
	command string
	args    []string
	env     []string // NAME=value, the whole environment of the server
	dir     string
	url     string
	headers map[string]string
	// hidden redacts everything that may be secret from logs, errors and statuses;
	// secrets redacts only certain secrets from results.
	hidden, secrets *redact.Redactor
}

// passedOn are the variables of Savant's environment that every server gets, for
// finding programs, the user's folders and the language.
var passedOn = []string{"PATH", "HOME", "LANG", "TMPDIR", "USER", "SHELL", "TERM"}

// variable is ${NAME}, ${NAME:-default} or ${env:NAME}.
var variable = pattern.Lazy(`\$\{([^}]*)\}`)

var variableName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expansion expands variables in texts and collects possible secrets.
type expansion struct {
	lookup  func(name string) (string, bool)
	hidden  []string
	secrets []string
	err     error
}

// hold marks the value of a variable or a header as secret.
func (x *expansion) hold(name, held string) {
	if slices.Contains(passedOn, name) {
		return
	}
	x.hidden = append(x.hidden, held)
	if redact.SecretSetting(name) {
		x.secrets = append(x.secrets, held)
	}
}

// text expands the variables of a text. A missing variable is an error, which never
// contains a value.
func (x *expansion) text(template string) string {
	return variable().ReplaceAllStringFunc(template, func(found string) string {
		name, fallback, hasFallback := strings.Cut(found[2:len(found)-1], ":-")
		name = strings.TrimPrefix(name, "env:")
		held, has := x.lookup(name)
		switch {
		case !variableName().MatchString(name):
			x.fail(fault.New(fault.InvalidParams, "${…}: expected the name of a variable, got %q", fault.Cut(name, 60)))
		case has && (held != "" || !hasFallback):
			x.hold(name, held)
			return held
		case hasFallback:
			return fallback
		default:
			x.fail(fault.New(fault.EngineOffline, "the variable %s is not set in the environment of Savant", name))
		}
		return ""
	})
}

func (x *expansion) fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// resolve returns how to reach a server. environment is Savant's; a relative cwd is
// relative to folder.
func (e *entry) resolve(environment []string, folder string) (launch, error) {
	lookup := lookupIn(environment)
	x := &expansion{lookup: lookup}
	made := launch{command: x.text(e.command), url: x.text(e.url), headers: map[string]string{}, dir: folder}
	for _, arg := range e.args {
		made.args = append(made.args, x.text(arg))
	}
	if e.dir != "" {
		if made.dir = x.text(e.dir); !filepath.IsAbs(made.dir) {
			made.dir = filepath.Join(folder, made.dir)
		}
	}
	for _, name := range passedOn {
		if held, has := lookup(name); has {
			made.env = append(made.env, name+"="+held)
		}
	}
	made.env = append(made.env, mountedBy+"=1")
	for _, name := range slices.Sorted(maps.Keys(e.env)) {
		held := x.text(e.env[name])
		made.env = append(made.env, name+"="+held)
		if len(held) >= minLiteral {
			x.hold(name, held)
		}
	}
	for name, template := range e.headers {
		made.headers[name] = x.text(template)
		x.holdHeader(name, made.headers[name])
		x.checkHeader(name, made.headers[name])
	}
	if x.err == nil && made.url != "" {
		x.err = x.checkURL(made.url)
	}
	made.secrets = redact.FromLength(minSecret, x.secrets...).KnownOnly()
	made.hidden = redact.FromLength(minSecret, slices.Concat(x.hidden, x.secrets)...)
	return made, x.err
}

// minSecret is the minimum length of a redacted value in bytes: a shorter one would
// match everywhere.
const minSecret = 4

// minLiteral is the length in bytes from which a literal in the file counts as a
// secret: "true" and "8080" do not.
const minLiteral = 8

// holdHeader marks a header's value, and its part after the scheme, as secret.
func (x *expansion) holdHeader(name, held string) {
	_, token, _ := strings.Cut(held, " ")
	for _, each := range []string{held, token} {
		if len(each) >= minLiteral {
			x.hold(name, each)
		}
	}
}

// checkHeader refuses a value that no request can carry: a variable read from a file
// often ends in a line break. The error does not contain the value.
func (x *expansion) checkHeader(name, held string) {
	isControl := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if x.err == nil && strings.ContainsFunc(held, isControl) {
		x.err = fault.New(fault.InvalidParams, "headers: the value of %s has a line break or another control character; remove it", name)
	}
}

func lookupIn(environment []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, each := range slices.Backward(environment) {
			if key, held, ok := strings.Cut(each, "="); ok && key == name {
				return held, true
			}
		}
		return "", false
	}
}

// checkURL refuses an invalid server URL, and marks its password and the values of its
// query as secret.
func (x *expansion) checkURL(text string) error {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return fault.New(fault.InvalidParams, "url: expected http:// or https:// and a host")
	}
	if password, has := address.User.Password(); has {
		x.secrets = append(x.secrets, password)
	}
	for name, values := range address.Query() {
		for _, each := range values {
			x.hold(name, each)
		}
	}
	return nil
}

package ci

import (
	"maps"
	"os"
	"slices"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/redact"
)

// passed lists the variables of this process that every command gets: where programs,
// home folders and caches are, the language and time zone, and what tool chains need. A
// command gets any other variable, and so any secret, only if ci.yaml names it.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOBIN", "GOENV", "GOFLAGS", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN",
	"CGO_ENABLED", "CC", "CXX", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV",
}

// standing are variables that every command gets: it runs unattended, and without a
// terminal if this process has none. NO_COLOR is not among them: tests of programs that
// color their output fail with it.
var standing = map[string]string{"CI": "true", "TERM": "dumb"}

// reference matches a variable of this process within a value of env: "Bearer
// ${TOKEN}".
var reference = pattern.Lazy(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// credentials matches a URL with user information, as in GOPROXY.
var credentials = pattern.Lazy(`://[^/\s,|]*@`)

// environment returns the sorted variables of a command, and the values among them to
// redact: those that ci.yaml takes from this process.
func environment(of command) (variables, secrets []string, err error) {
	values := maps.Clone(standing)
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set && value != "" && !credentials().MatchString(value) {
			values[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(of.env)) {
		for _, match := range reference().FindAllStringSubmatch(of.env[name], -1) {
			value, set := os.LookupEnv(match[1])
			if !set {
				return nil, nil, fault.New(fault.EngineOffline, "%s: commands.%s.env.%s: Savant's own environment has no %s", File, of.name, name, match[1])
			}
			secrets = append(secrets, value)
		}
		values[name] = reference().ReplaceAllStringFunc(of.env[name], func(found string) string {
			value, _ := os.LookupEnv(found[2 : len(found)-1])
			return value
		})
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		variables = append(variables, name+"="+values[name])
	}
	return variables, secrets, nil
}

// minSecret is the minimum length of a redacted value. A shorter one occurs within
// ordinary words, and redacting it would damage the output.
const minSecret = 4

// redactorOf returns a redactor for exactly the given secrets.
func redactorOf(secrets []string) *redact.Redactor {
	return redact.FromLength(minSecret, secrets...).KnownOnly()
}

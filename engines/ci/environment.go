package ci

import (
	"maps"
	"os"
	"slices"

	"savant/fault"
	"savant/internal/pattern"
	"savant/internal/redact"
)

// passed lists the variables that every command gets from this process: where programs,
// home folders and caches are, the language and time zone, and what tool chains need to
// find their parts. Any other variable, and so any secret, reaches a command only if
// ci.yaml lists it.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOBIN", "GOENV", "GOFLAGS", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN",
	"CGO_ENABLED", "CC", "CXX", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV",
}

// fixed are variables that every command gets: no person watches it, and it has no
// terminal.
var fixed = map[string]string{"CI": "true", "NO_COLOR": "1", "TERM": "dumb"}

// reference is a part of a value of env that is taken from this process:
// "Bearer ${TOKEN}".
var reference = pattern.Lazy(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// credentials matches a URL with a user in it, as GOPROXY may hold.
var credentials = pattern.Lazy(`://[^/\s,|]*@`)

// environment returns the variables of a command, sorted, and the values among
// them that must not be shown: those that ci.yaml takes from this process.
func environment(of command) (variables, secrets []string, err error) {
	values := maps.Clone(fixed)
	for _, name := range passed {
		if value, set := os.LookupEnv(name); set && !credentials().MatchString(value) {
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

// minSecret is the length from which a value is hidden. A shorter value occurs within
// ordinary words, and hiding it would damage the output.
const minSecret = 4

// hiding returns a redactor that replaces the given secrets in a text and leaves the
// rest as the command wrote it.
func hiding(secrets []string) *redact.Redactor {
	return redact.FromLength(minSecret, secrets...).Known()
}

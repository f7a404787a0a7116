package redact

import (
	"strings"

	"savant/internal/pattern"
)

// secretName are names of variables, headers and members that hold secrets.
var secretName = pattern.Lazy(`(?i)(^|[_-])(token|api[_-]?key|secret|passphrase|authorization|cookie|credentials?|(private|access|secret)[_-]?key)$|` +
	`(?i:password|passwd)$|_(TOKEN|KEY|SECRET)$|[a-z](Token|ApiKey|APIKey|Secret|AccessKey|PrivateKey|SecretKey)$`)

// SecretName says whether what has this name is a secret: a variable, a header,
// a member of an object.
func SecretName(name string) bool { return secretName().MatchString(name) }

// SecretSetting is SecretName for what a person configures for one server,
// variables, headers and parameters, where more names are those of secrets.
func SecretSetting(name string) bool { return secretSetting().MatchString(name) }

var secretSetting = pattern.Lazy(`(?i)token|secret|passw|passphrase|pwd|authorization|(^|[_-])(auth|key|pat|apikey)$|credential|cookie`)

// secretVariable are further names of environment variables: PWD is none.
func secretVariable(name string) bool {
	for _, ending := range []string{"_PASS", "_PWD", "_PAT", "_AUTH"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

package redact

import (
	"strings"

	"savant/internal/pattern"
)

// secretName matches names of variables, headers and members with secrets.
var secretName = pattern.Lazy(`(?i)(^|[_-])(token|api[_-]?key|secret|passphrase|authorization|cookie|credentials?|(private|access|secret)[_-]?key)$|` +
	`(?i:password|passwd)$|_(TOKEN|KEY|SECRET)$|[a-z](Token|ApiKey|APIKey|Secret|AccessKey|PrivateKey|SecretKey)$`)

// SecretName reports whether a variable, a header or a member of an object with
// this name holds a secret.
func SecretName(name string) bool { return secretName().MatchString(name) }

// SecretSetting is SecretName for the variables, headers and parameters of one
// configured server, where more names are those of secrets.
func SecretSetting(name string) bool { return secretSetting().MatchString(name) }

var secretSetting = pattern.Lazy(`(?i)token|secret|passw|passphrase|pwd|authorization|(^|[_-])(auth|key|pat|apikey)$|credential|cookie`)

// secretVariable matches further names of environment variables, but not PWD.
func secretVariable(name string) bool {
	for _, ending := range []string{"_PASS", "_PWD", "_PAT", "_AUTH"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

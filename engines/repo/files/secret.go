package files

import (
	"path"
	"strings"
)

// secretNames are files that hold credentials by convention; their content is
// not shown to a model.
var secretNames = map[string]bool{".netrc": true, "_netrc": true, ".git-credentials": true, ".npmrc": true, ".pypirc": true, ".pgpass": true,
	".htpasswd": true, "id_rsa": true, "id_dsa": true, "id_ecdsa": true, "id_ed25519": true}

// secretEndings are those of private keys and key stores.
var secretEndings = map[string]bool{".key": true, ".pem": true, ".p12": true, ".pfx": true, ".jks": true, ".keystore": true}

// examples of an .env file hold no secrets.
var envExamples = map[string]bool{".env.example": true, ".env.sample": true, ".env.template": true, ".env.dist": true}

// Secret says whether a path's content is kept from models: what git and Savant
// keep for themselves (.git, .savant), .env files, and files that hold keys or
// credentials by convention.
func Secret(name string) bool {
	name = strings.ToLower(name)
	for segment := range strings.SplitSeq(name, "/") {
		if segment == ".git" || segment == ".savant" {
			return true
		}
	}
	base := path.Base(name)
	if base == ".env" || strings.HasPrefix(base, ".env.") {
		return !envExamples[base]
	}
	return secretNames[base] || secretEndings[path.Ext(base)]
}

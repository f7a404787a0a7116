// Package withheld decides by name which files' content models must not see: files of
// git and Savant, and files that contain keys or credentials by convention. context.*
// and git.* both use it, so that neither shows what the other withholds.
package withheld

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"savant/fault"
	"savant/internal/pattern"
)

// Setting is the variable with the patterns of files to show nevertheless. The project
// itself cannot set it.
const Setting = "SAVANT_SHOWN_FILES"

// Files is a rule for withheld files. The zero value withholds every file that may
// contain secrets.
type Files struct{ shown []string }

// Except returns the rule with exceptions: patterns with * and ? within a name. A
// pattern without a slash matches names at any depth. Files of git and Savant are
// always withheld.
func Except(patterns []string) (Files, error) {
	shown := make([]string, len(patterns))
	for i, each := range patterns {
		shown[i] = strings.ToLower(strings.Trim(strings.TrimPrefix(each, "./"), "/"))
		if _, err := path.Match(shown[i], ""); err != nil || shown[i] == "" {
			return Files{}, fmt.Errorf("%q is not a pattern", each)
		}
	}
	return Files{shown}, nil
}

// Patterns returns the patterns.
func (f Files) Patterns() []string { return f.shown }

// Has reports whether a file is withheld, by its slash-separated path.
func (f Files) Has(name string) bool {
	name = strings.ToLower(path.Clean(name))
	segments := strings.Split(name, "/")
	for _, segment := range segments {
		if segment == ".git" || segment == ".savant" {
			return true
		}
	}
	return secret(segments) && !f.shows(name)
}

// Holds reports whether a file is withheld for its content: the key of a service
// account, whose file name varies (project-1a2b.json).
func (f Files) Holds(name string, content []byte) bool {
	return strings.EqualFold(path.Ext(name), ".json") && len(content) <= maxAccount && accountKey(content) && !example(strings.ToLower(path.Base(name))) && !f.shows(strings.ToLower(path.Clean(name)))
}

// maxAccount exceeds the size of such a key.
const maxAccount = 64 << 10

// accountKey reports whether a text, or a patch of it, has the fields of a service
// account's key.
func accountKey(content []byte) bool {
	return bytes.Contains(content, []byte(`"private_key"`)) && accountType().Match(content)
}

var accountType = pattern.Lazy(`"type"\s*:\s*"(service_account|authorized_user|external_account)"`)

// DeniedError returns TOOL_DENIED for a withheld file.
func DeniedError(name string) *fault.Error {
	return fault.New(fault.ToolDenied, "path: models may not read %q: it may hold secrets, or it belongs to Savant or git", fault.Cut(name, 200)).
		Hinted(fault.Hint{Text: "a person can allow files of that name with " + Setting})
}

func (f Files) shows(name string) bool {
	for _, pattern := range f.shown {
		subject := name
		if !strings.Contains(pattern, "/") {
			subject = path.Base(name)
		}
		if fits, err := path.Match(pattern, subject); err == nil && fits {
			return true
		}
	}
	return false
}

// names are files that hold credentials by convention.
var names = setOf(".netrc _netrc .git-credentials .npmrc .pypirc .pgpass pgpass.conf .htpasswd .my.cnf .mylogin.cnf .envrc .dockercfg .dockerconfigjson .s3cfg .boto " +
	".vault-token .vault_pass .vault_password vault_pass.txt vault_password.txt .terraformrc terraform.rc credentials.tfrc.json .databrickscfg rclone.conf kaggle.json kubeconfig kubeconfig.yaml kubeconfig.yml .kubeconfig credentials " +
	"credentials.json application_default_credentials.json access_tokens.db credentials.db .pulumi-credentials.json .secrets secrets.yaml secrets.yml secrets.json secrets.toml master.key " +
	"credentials.csv local.settings.json .bash_history .zsh_history .sh_history .psql_history .mysql_history .rediscli_history .node_repl_history .python_history")

// folders are folders whose files are all withheld: ssh, cloud services, clusters, key
// rings.
var folders = setOf(".ssh .aws .azure .gcloud .kube .gnupg .password-store .oci .aliyun .chef .gem")

// within are files that are withheld in a folder of a certain name only.
var within = setOf(".docker/config.json gcloud/credentials gcloud/legacy_credentials gh/hosts.yml glab-cli/config.yml .cargo/credentials .cargo/credentials.toml " +
	".m2/settings.xml .m2/settings-security.xml .composer/auth.json composer/auth.json .streamlit/secrets.toml .snowsql/config .config/hub .gradle/gradle.properties " +
	".terraform/terraform.tfstate .bundle/config .nuget/nuget.config etc/shadow etc/gshadow")

// endings are the extensions of private keys, key stores, password databases and
// states.
var endings = setOf(".key .pem .p8 .p12 .pfx .pkcs12 .jks .keystore .ppk .kdbx .kdb .keychain .ovpn .tfstate .kubeconfig .env")

// secret reports whether a file may contain secrets, by the lower-case parts of its
// path.
func secret(segments []string) bool {
	base := original(segments[len(segments)-1])
	for i, folder := range segments[:len(segments)-1] {
		if folders[folder] || within[folder+"/"+segments[i+1]] {
			return true
		}
	}
	switch ending := path.Ext(base); {
	case example(base):
		return false
	case base == ".env", strings.HasPrefix(base, ".env."), names[base], endings[ending], strings.Contains(base, ".tfstate."):
		return true
	case ending == ".pub":
		return false
	case ending == ".json" && credentialsJSON(strings.TrimSuffix(base, ending)):
		return true
	}
	return privateKey(base)
}

// original returns the name of the file that a backup was made of: .env~, prod.env.bak.
func original(base string) string {
	for {
		name := strings.TrimRight(base, "~")
		if ending := path.Ext(name); copies[ending] && ending != name {
			name = strings.TrimSuffix(name, ending)
		}
		if name == base || name == "" {
			return base
		}
		base = name
	}
}

var copies = setOf(".bak .backup .old .orig .save .swp .swo .copy")

// privateKey reports whether a name is usual for a private key of ssh: id_rsa,
// id_ed25519.old.
func privateKey(base string) bool {
	kind, is := strings.CutPrefix(base, "id_")
	for _, each := range []string{"rsa", "dsa", "ecdsa", "ed25519", "xmss"} {
		if rest, fits := strings.CutPrefix(kind, each); is && fits && (rest == "" || strings.ContainsAny(rest[:1], "._-")) {
			return path.Ext(base) == "" || !sources[path.Ext(base)]
		}
	}
	return false
}

// sources are the extensions of programs: their names describe what they do.
var sources = setOf(".go .py .js .ts .rs .c .h .java .rb .md .txt .sh")

// credentialsJSON reports whether a name is usual for keys in JSON, such as
// serviceAccountKey.json and client_secret_1.apps.googleusercontent.com.json.
func credentialsJSON(stem string) bool {
	plain := strings.NewReplacer("-", "", "_", "", ".", "").Replace(stem)
	for _, each := range []string{"serviceaccount", "clientsecret", "firebaseadminsdk"} {
		if strings.Contains(plain, each) {
			return true
		}
	}
	for _, each := range []string{"credentials", "credential", "gcpkey", "gcloudkey", "sakey"} {
		if strings.HasPrefix(plain, each) || strings.HasSuffix(plain, each) {
			return !strings.Contains(plain, "schema")
		}
	}
	return false
}

// example reports whether a name is that of an example file: .env.example, sample.env,
// credentials.example.json.
func example(base string) bool {
	for part := range strings.FieldsFuncSeq(base, func(c rune) bool { return c == '.' || c == '-' || c == '_' }) {
		switch part {
		case "example", "examples", "sample", "template", "dist", "tmpl", "tpl":
			return true
		}
	}
	return false
}

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for each := range strings.FieldsSeq(list) {
		set[each] = true
	}
	return set
}

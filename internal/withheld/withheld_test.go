package withheld_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/withheld"
)

func TestWhatIsWithheld(t *testing.T) {
	var all withheld.Files
	for _, name := range []string{".env", ".env.local", "sub/.ENV.Production", "prod.env", "config/db.env", ".envrc", ".aws/credentials", "home/.aws/config", ".ssh/config",
		".ssh/known_hosts", "a/.SSH/id_work", ".kube/config", "kubeconfig", "deploy/kubeconfig.yaml", "prod.kubeconfig", "image/etc/shadow", ".docker/config.json", ".dockercfg", "terraform.tfstate", "x/terraform.tfstate.backup",
		"terraform.tfstate.d/prod/terraform.tfstate", "credentials.json", "google-credentials.json", "my-credentials.json", "service-account.json", "service_account_key.json",
		"serviceAccountKey.json", "prod-service-account.json", "client_secret_123.apps.googleusercontent.com.json", "app-firebase-adminsdk-x1.json", "gcp-sa-key.json", ".netrc",
		".npmrc", ".pypirc", ".pgpass", ".htpasswd", ".git-credentials", "id_rsa", "keys/id_ed25519", "id_rsa.old", "id_ecdsa_sk", "server.key", "tls.pem", "x.p12", "x.ppk", "AuthKey.p8",
		".git/config", "a/.git/HEAD", ".savant/ci.yaml", ".cargo/credentials.toml", ".config/gh/hosts.yml", ".config/gcloud/application_default_credentials.json",
		".config/gcloud/legacy_credentials/a/adc.json", ".gnupg/secring.gpg", ".vault-token", ".m2/settings.xml", "./.env", "a/../.env",
		".env~", "prod.env.bak", ".prod.env.swp", "credentials.json.orig", "server.key.old", ".netrc.bak~", "credentials.csv", ".bash_history", "ansible/vault_pass.txt", "local.settings.json"} {
		require.True(t, all.Has(name), name)
	}
	for _, name := range []string{".env.example", ".env.sample", "example.env", "sample.env", ".env.local.example", ".env.dist", "credentials.example.json", "main.go", "env.go", "environment.md",
		"docs/ssh/config", "aws/credentials.go", "docker/config.json", "kube/config.yaml", "shadow", "shadow.go", "id_rsa.pub", "id_rsa_test.go", "service-account.md", "service_accounts.go",
		"credentials.schema.json", "accountservice.json", "package.json", "tsconfig.json", ".github/workflows/ci.yml", "tfstate.go", "keys.json", ".gitignore", "monkey.go",
		".environment", "a.envelope", "terraform.tf", "src/credentials/index.ts", "idrsa", "id_rsatools.py",
		"main.go.bak", ".bak", "~", "history.go", ".env.example~", "id_rsa.pub.bak"} {
		require.False(t, all.Has(name), name)
	}
}

func TestSomeMayBeShown(t *testing.T) {
	files, err := withheld.Except([]string{"*.pem", "deploy/prod.env", "./.kube/*"})
	require.NoError(t, err)
	for name, held := range map[string]bool{"a/b/TLS.pem": false, "deploy/prod.env": false, "prod.env": true, "x/deploy/prod.env": true, ".kube/config": false,
		".git/x.pem": true, ".savant/x.pem": true, "x.key": true} {
		require.Equal(t, held, files.Has(name), name)
	}
	for _, wrong := range []string{"[", "", "/"} {
		_, err = withheld.Except([]string{wrong})
		require.Error(t, err, wrong)
	}
}

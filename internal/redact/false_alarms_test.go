package redact

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSourcesAreLeftAlone reads the sources of Go itself. What stands there is no
// secret, except in tests and in what they read: at most one line in 100,000 may be
// taken for one.
func TestSourcesAreLeftAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads all sources of Go")
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	r := New().Certain()
	lines, alarms := 0, []string{}
	for _, folder := range []string{"crypto", "syscall", "net", "os", "io", "encoding", "internal", "runtime", "cmd/link", "cmd/go/internal", "cmd/vendor", "text"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src", folder), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() == "testdata" {
				return fs.SkipDir // some systems have Go without a part of its sources
			}
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			source, err := os.ReadFile(name)
			text := string(source)
			lines += strings.Count(text, "\n")
			for _, found := range r.spans(text) {
				alarms = append(alarms, name+": "+text[found.from:found.to])
			}
			return err
		}))
	}
	if lines < 100_000 {
		t.Skip("the sources of Go are not here")
	}
	require.LessOrEqual(t, len(alarms), lines/100_000, strings.Join(alarms, "\n"))
}

func TestNamesAndWordsAreNoSecrets(t *testing.T) {
	r := New().Certain()
	for _, text := range []string{"sk_stream_wait_memory(sk, &timeo)", "struct sk_max_ack_backlog_2", ".sk-fading-circle .sk-circle12", "sk-estimator-doc-link",
		"pk_user_organization_id", "re_compile_pattern_internal_2", "secret_manager_client_for_the_tests", "the basic ReadAt method", "// Basic bit-manipulation",
		"Invalid Basic Self-Issued", "git clone ssh://git@github.com/a/b", "http://user:password@example.com/", "http://user:***@host", "postgres://%s:%s@%s/db",
		"postgres://${USER}:${PASSWORD}@db", "PrivateKey = testRSA2048PrivateKey", "withXSRFToken: defaultToConfig2,", "const CancelToken = CancelToken$1;",
		"curl -u user:passwd https://example.com", "postgres://postgres:postgres@db/test", "mysql2://myuser:mypass@localhost/db",
		"ETCDCTL_KEY=/foo/bar", "MYSQL_ALLOW_EMPTY_PASSWORD=true", `"Authorization" => "Basic #{Base64.strict_encode64(username + password2)}"`,
		"R7V/oy2y9XufNFnO2FU050DHMeq0dQllSPaM/xq8n", "SO_USER_COOKIE = 0x1015", "type Dircookie = uint64", `com.Token = "// indirect"`,
		`"forgot_password": "Passwort vergessen?"`, `"password": "Password"`, `"secret": "\u3299\ufe0f"`, "arn:aws:secretsmanager:us-east-1:1:secret:Name-6RandomCharacters",
		`unrecognized token: "x'48695'"`, "EARTH GLOBE ASIA-AUSTRALIA", "Cookie: string // of the request", "authorization: `Basic ${btoa('user:pass12345678')}`",
		"mDx+EAAAAAABIhckPhtUAAABIiRQkSMdEAAAAAAABIhckPhtUAAABIiRQkSMdE1", "export MCP_CLIENT_SECRET=your_client_secret", "refresh_token=ghr_original_refresh_token",
		"Password: b64Pwd,", "azureblockblob://DefaultAzureCredential@STORAGE_ACCOUNT_URL", "HTTPS://jo%40email.com:a%20secret@example.de:1234/",
		"--otp-secret-key=ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "OTHER_KEY=Some Value", "mysql://scott:tiger@localhost/foo", "s3://aws_key:aws_secret@bucket",
		"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", `token := "xoxb-1234-xxxxxx"`, "app_token: 'xoxb-my-bot-token'",
		"oauth_token: abc456", "export NRIA_LICENSE_KEY=REPLACE_LICENSE_KEY_HERE", "with override_settings(SECRET_KEY=new_key):", "LinkedIn,\n    MicrosoftEntraId,",
		"akka.tcp://sparkExecutorActorSystem@mesos-slave-09:55904", "https://13957525385%40example.com@contacts.example.com/874161398/principal/",
		`"credentials": "/api/v2/job_templates/5/credentials/",`, `create("label",null,"Password:"),d?create("code",null," ****** ")`} {
		require.Equal(t, text, r.Text(text))
	}
	require.Equal(t, "sk_stream_wait_memory", New().Text("sk_stream_wait_memory"))
}

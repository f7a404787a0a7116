package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What stands in sources and documents in place of a secret is shown, and so are names
// and sentences that look like one. They are from public repositories.
func TestExamplesAreLeftAlone(t *testing.T) {
	r := New().Certain()
	for _, text := range []string{
		`RUBY2_KEYWORDS_KEY = "_aj_ruby2_keywords"`,
		`const STORAGE_KEY = 'todos-vuejs-3.x'`,
		"ANSIBLE_DUPLICATE_YAML_DICT_KEY=error",
		"GORELEASER_FORCE_TOKEN=gitea",
		`- API_TOKEN=secret-token`,
		`token: "token12",`,
		`"progressToken": "abc123"`,
		"- KC_BOOTSTRAP_ADMIN_PASSWORD=admin",
		`"POSTGRES_PASSWORD" => "postgres"`,
		`password: '!'`,
		"password: debug2: channel 2: written 67 to efd 11",
		"esxi1_password: @ESXI1_PASSWORD",
		`"access_token": "eyJhbGciOiJSUzI1NiIs...",`,
		"Authorization: Bearer eyJhbGciOiJSUzI1NiIs...",
		"SESSION_SECRET=99ae8af...snip...ec0f262ac",
		"API_TOKEN: glpat-xxxxxxxxxxxx",
		`curl --fail -u "${git_user}:${GITHUB_TOKEN}" "${url}"`,
		`curl -k -u "{{ .Env.NEXUS_USERNAME }}:{{ .Env.NEXUS_PASSWORD }}"`,
		`f'ssh://{scenario.user_scenario.remote.name}@localhost:22'`,
		"imap://user;AUTH=EXTERNAL@server/box", // how to log in, no token
		`expect("Basic dXNlcjpwYXNz", "Basic dXNlcjo=")`,
		"Authorization: Basic %b64[testuser:testpass1]b64%",
		"2. External authorization: MCP servers often need to access third-party APIs, say OAuth2andmore, on behalf of users",
		"src: url(data:font/woff2;base64," + strings.Repeat("d09GMgABAAAAAGJ4", 20) + "/EAAA" + strings.Repeat("AABC", 15) + ")",
		"find /var/lib/mysql -print -path x", "mysql -u root -p", "mysql -h db -port 3306", `mysql -uroot -p"$PASSWORD"`, "mysql -u root -p${PASSWORD}",
		"the prefix $2a$ says bcrypt, $argon2id$ says Argon2",
	} {
		require.Equal(t, text, r.Text(text))
	}
}

// A value is no secret, whatever its name, if it says yes or no, how, or where the secret is.
func TestAStatedValueIsNoSecret(t *testing.T) {
	for _, r := range []*Redactor{New(), New().Certain()} {
		for _, text := range []string{"permissions:\n  id-token: write\n  contents: read", "id-token: 'write'", "persist-credentials: false", `credentials: "include",`, "token: null", "use_cookie=no", "cookie: off # for now",
			"GH_TOKEN: ${{ secrets.GITHUB_TOKEN }}", `password: "${{ steps.auth.outputs.auth_token }}"`, "DB_PASSWORD=${DB_PASSWORD}", "secret: {{ vault.value }}", `{"permissions":{"id-token":"write"},"api_key":"${API_KEY}"}`} {
			require.Equal(t, text, r.Text(text))
			if json.Valid([]byte(text)) {
				require.Equal(t, text, string(r.JSON(json.RawMessage(text))))
			}
		}
	}
	for _, text := range []string{"token: writer7", `password = "no more secrets42"`, "password: none2", "password: ${X}abc9def", "password=${A:-s3cret99}", `{"password": "on 2 horses"}`, `secret: "truefalse1"`,
		"Cookie: null; sid=s3cretpart1", "Authorization: required s3cretpart1", `{"client_secret": "{f2504e0a-4f89-41d3-9a0c-0305e82c3301}"}`} {
		left := New().Text(text)
		if json.Valid([]byte(text)) {
			left = string(New().JSON(json.RawMessage(text)))
		}
		require.Contains(t, left, Mark, text)
	}
}

// What only resembles an example is removed.
func TestResemblingAnExampleIsNotEnough(t *testing.T) {
	random := made(letters+digits, 40)
	for _, r := range []*Redactor{New(), New().Certain()} {
		for _, text := range []string{
			"API_TOKEN=" + random + "...", // a sentence ends so, too
			"SECRET_KEY=correct-horse-battery", "APP_SECRET=swordfish-and-more", "DB_PASSWORD=swordfish",
			`api_key = "` + random + `"`, `token: "` + strings.ToLower(random) + `"`,
			"glpat-x" + random[:20], "Authorization: Basic YWRhOmh1bnRlcjIyMzQ1Ng==",
			"https://images.example/" + random + "/sq0atp-" + random[:22],
			"mysql -uroot -p" + random[:12] + " app", "mysqldump --all -h db -u ada -pswordfish", `mariadb -p'` + random[:12] + `1' app`,
			"ada:$2b$12$" + made(letters+digits, 53), "$argon2id$v=19$m=65536,t=3,p=4$" + random[:22] + "$" + made(letters+digits, 43),
			"root:$6$" + random[:16] + "$" + made(letters+digits, 86) + ":19000:0", "$y$j9T$" + random[:22] + "$" + made(letters+digits, 43),
		} {
			require.Contains(t, r.Text(text), Mark, text)
		}
	}
}

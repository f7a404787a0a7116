package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Between a name and its value stands what the language has there.
func TestSecretsInEveryNotation(t *testing.T) {
	key, password := made(letters+digits, 32), "kV7#mQ9$xLp2"
	for _, text := range []string{
		`define('AUTH_KEY', "%K");`, `os.Setenv("API_TOKEN", "%K")`, `process.env['API_KEY'] = '%K'`, `config.set('password', '%P')`, `client.setPassword("%P")`, `.withToken("%K")`,
		"ENV API_TOKEN %K", `set -gx API_TOKEN "%K"`, "aws configure set aws_secret_access_key %K", "API_TOKEN?=%K", "API_TOKEN := %K", "| API_TOKEN | %K |", "API_TOKEN\t%K",
		"<password>%P</password>", `<entry key="password">%P</entry>`, "password: |\n  %P\n", "token: >-\n    %K\nnext: 1", "Your token is %K", "The password is: %P",
		`password = """%P"""`, `password = r'%P'`, `secret = @"%P"`, "ALTER ROLE ada PASSWORD '%P';", "IDENTIFIED BY '%P'", `X-Api-Key:[%K]`, `{"x-api-key": ["%K"]}`,
		"pwd=%P;", `"pass": "%P"`, "ansible_become_pass: %P", "secret_key_base: %K%K", "GITHUB_PAT=%K", `psk="%P"`,
		`"token" = "%K"`, "requirepass %P", "masterauth %P", "https://files.example.org/a?sig=%K", "/b?se=1&sig=%K&sv=2", `api_keys = ["%K"]`, "API_TOKENS=%K", `secrets = "%K"`, `passwords = ["%P"]`,
	} {
		text = strings.NewReplacer("%K", key, "%P", password).Replace(text)
		for _, r := range []*Redactor{New(), New().Certain()} {
			left := r.Text(text)
			require.NotContains(t, left, key, text)
			require.NotContains(t, left, password, text)
			require.Contains(t, left, Mark, text)
		}
	}
	list := New().JSON(json.RawMessage(`{"X-Api-Key":["red","null"],"a":["b"]}`))
	require.JSONEq(t, `{"X-Api-Key":["`+Mark+`","null"],"a":["b"]}`, string(list))
}

// The same names and notations have much that is no secret.
func TestWeakNamesAndNotationsAlone(t *testing.T) {
	for _, text := range []string{"--- PASS: TestReads/a+b#01_Long2Name (0.00s)", "pass=312 fail=0", "PWD=/home/ada/src2", `pwd: "/srv/App2Data"`, "func blocks(secret *corev1.Secret, name string)",
		`page.type("#password", process.env.TEST_2_PASSWORD!)`, "import OAuth2AccessToken, OAuth2RefreshToken", "token (see RFC6750)", "All 5 tests pass (12/12 Files2)", `t("token", "Token2Of3")`,
		"<token>{{ token1 }}</token>", `getToken("k8s.io/v1/pods")`, "a token is 2048 bytes", "key_base: 16", "low_pass = filter2d", `"thoughtSignature": "EtsCCtgCAb4k9vsG6jAGgwWyEfGwT99Cs3RhM4EVEyjTlze2DxNU"`, "max_tokens: 4096", "sort_keys=True", "secrets: inherit", "The keys: a1, b2", `"js-tokens": ["js-tokens@9.0.1"]`, `"tough-cookie": ["tough-cookie@4.1.4"]`} {
		for _, r := range []*Redactor{New(), New().Certain()} {
			require.Equal(t, text, r.Text(text))
		}
	}
}

// What a terminal or a page does not show hides no key.
func TestKeysAmongColours(t *testing.T) {
	key := "ghp_" + made(letters+digits, 36)
	for _, text := range []string{"\x1b[32m" + key + "\x1b[0m", "a \x1b[1;31m\x1b[K" + key[:9] + "\x1b[m\x1b[K" + key[9:], `\033[32m` + key + `\033[0m`, `\e[1m` + key, `{"a":"\u001b[32m` + key + `\u001b[0m"}`, `'\x1b[36m` + key + `'`,
		"^[[32m" + key, "\x1b(B\x1b[m" + key, "token=\x1b[0;m" + key[4:], "id\x1b[0;m=1 token\x1b[0;m=" + key[4:24], key[:12] + "\u200b" + key[12:], key[:12] + "\u00ad" + key[12:]} {
		for _, r := range []*Redactor{New(), New().Certain()} {
			left := r.Text(text)
			require.NotContains(t, left, key[12:20], "%q", text)
			require.Contains(t, left, Mark, "%q", text)
		}
	}
	plain := "\x1b[32mok\x1b[0m 12 files, \x1b[1mnext_page_token\x1b[0m: abc"
	require.Equal(t, plain, New().Text(plain))
}

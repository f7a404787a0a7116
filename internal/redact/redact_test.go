package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"savant/internal/redact"
)

// planted are secrets by their shape alone, whole.
var planted = []string{
	"sk-proj-" + "abcdefghijklmnop1234",
	"sk_live_" + "abcdefghijklmnop",
	"AKIA" + "IOSFODNN7EXAMPLE",
	"ghp_" + "abcdefghijklmnopqrstuvwxyz012345",
	"github_pat_" + "11AAAAAAA0abcdefghij",
	"glpat-" + "abcdefghij",
	"xoxb-" + "123456789012-abcdef",
	"hf_" + strings.Repeat("aB1", 11),
	"npm_" + strings.Repeat("aB1", 12),
	"eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
	"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
	"-----BEGIN PGP PRIVATE KEY BLOCK-----\nMIIEpAIBAAKCAQEA",
}

const value = `correct "horse" battery/staple?`

func TestShapes(t *testing.T) {
	for _, r := range []*redact.Redactor{redact.New(), redact.New().Certain()} {
		for _, secret := range planted {
			require.Equal(t, "a "+redact.Mark, r.Text("a "+secret))
			inside, err := json.Marshal(map[string]any{"a": []any{secret}, secret: 1})
			require.NoError(t, err)
			require.Equal(t, `{"[redacted]":1,"a":["[redacted]"]}`, string(r.JSON(inside)))
		}
		for text, want := range map[string]string{
			"Authorization: Bearer abcdef123456":        "Authorization: Bearer [redacted]",
			"bearer%20abcdefghijklmnop":                 "bearer%20[redacted]",
			"Basic YWRhOmxvdmVsYWNl":                    "Basic [redacted]",
			"https://ada:lovelace@example.org/x":        "https://[redacted]@example.org/x",
			"https://ada:love@lace@example.org/x?a=b@c": "https://[redacted]@example.org/x?a=b@c",
			"see postgres://:hunter2@host\nand":         "see postgres://[redacted]@host\nand",
		} {
			if !strings.HasPrefix(text, "Auth") { // with a name, all of the value is taken from logs
				require.Equal(t, want, r.Text(text))
			}
			require.NotContains(t, r.Text(text), "abcdef")
		}
	}
}

// Files are named for the keys they hold; parts of other names are no keys.
func TestKeysWithinNames(t *testing.T) {
	r := redact.New().Certain()
	for _, key := range []string{"ghp_" + strings.Repeat("aB1", 12), "github_pat_" + strings.Repeat("aB1", 9), "AKIA" + "IOSFODNN7EXAMPLE", "npm_" + strings.Repeat("aB1", 12)} {
		require.Equal(t, "old/cfg_"+redact.Mark+".txt", r.Text("old/cfg_"+key+".txt"))
	}
	for _, name := range []string{"user_pk_constraint_of_orders", "use_npm_run_build_for_the_page", "my_ghp_settings", "is_AKIA_prefix", "xghp_" + strings.Repeat("aB1", 12)} {
		require.Equal(t, name, r.Text(name))
	}
}

// A known value is found in every encoding, whatever stands beside it.
func TestKnownValues(t *testing.T) {
	for _, r := range []*redact.Redactor{redact.New(value), redact.New(value).Certain(), redact.New(value).KnownOnly()} {
		quoted, err := json.Marshal(value)
		require.NoError(t, err)
		twice, err := json.Marshal(string(quoted))
		require.NoError(t, err)
		for _, text := range []string{value, string(quoted[1 : len(quoted)-1]), string(twice[3 : len(twice)-3]), url.QueryEscape(value), url.PathEscape(value),
			strings.ToLower(url.QueryEscape(value)), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
			base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
			hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))} {
			require.Equal(t, "a "+redact.Mark+" b", r.Text("a "+text+" b"))
		}
		for _, beside := range []string{"a:", "ad:", "ada:"} {
			binary := hex.EncodeToString([]byte("\xff" + beside)) // without the byte it would be a text, and the whole text is masked
			require.Equal(t, binary+redact.Mark+"0a", r.Text(binary+hex.EncodeToString([]byte(value+"\n"))))
			for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				header := encoding.EncodeToString([]byte(beside + value + "\nx"))
				left := strings.Replace(r.Text(header), redact.Mark, "", 1)
				require.Less(t, len(left), 15, "of %s there is %s", header, left)
			}
		}
		require.Equal(t, `{"a":"x[redacted]"}`, string(r.JSON(json.RawMessage(`{"a":"x\u0063orrect \"horse\" battery\/staple?"}`))))
	}
}

// Secrets that overlap are both gone.
func TestOverlaps(t *testing.T) {
	r := redact.New("secret value, with spaces", "spaces and more", "sk-abcdefgh/ijkl")
	require.Equal(t, "token="+redact.Mark+" end", r.Text("token=xsecret value, with spaces and more end"))
	require.Equal(t, redact.Mark, r.Text("sk-abcdefgh/ijkl"))
	require.Equal(t, "a_secret="+redact.Mark, r.Text("a_secret=-----BEGIN PRIVATE KEY-----\nMII"))
}

func TestLinesOfAValueAreFoundAlone(t *testing.T) {
	r := redact.New("-----BEGIN THING-----\nabcdefghijklmnopqrst\nabc\n")
	require.Equal(t, "x "+redact.Mark, r.Text("x abcdefghijklmnopqrst"))
	require.Equal(t, "abc", r.Text("abc"))
}

func TestShortValues(t *testing.T) {
	require.Equal(t, "my hunter2", redact.New("hunter2").Text("my hunter2"))
	require.Equal(t, "my [redacted]", redact.FromLength(4, "hunter2").Text("my hunter2"))
	require.Equal(t, "x[redacted]", redact.FromLength(4, "hunt").Text("x68756E74"))
	require.Equal(t, "68756e", redact.FromLength(3, "hun").Text("68756e"), "six digits stand in many a number")
	require.Equal(t, "ab", redact.FromLength(1, "ab", "").Text("ab"), "two bytes would be found everywhere")
}

func TestTheEnvironment(t *testing.T) {
	r := redact.FromEnvironment([]string{"PATH=/usr/local/bin", "A_TOKEN=aaaaaaaa1", "PGPASSWORD=bbbbbbbb2", "MYSQL_PWD=cccccccc3", "PWD=/home/user",
		"DATABASE_URL=postgres://ada:dddddddd4@host/db", "B_TOKEN=short", "C_TOKEN="}, "eeeeeeee5")
	require.Equal(t, strings.Repeat(redact.Mark+" ", 5)+"/usr/local/bin /home/user short ada", r.Text("aaaaaaaa1 bbbbbbbb2 cccccccc3 dddddddd4 eeeeeeee5 /usr/local/bin /home/user short ada"))
}

func TestMembersNamedLikeASecret(t *testing.T) {
	r := redact.New()
	for _, name := range []string{"token", "api_key", "API_KEY", "apikey", "apiKey", "Authorization", "password", "client_secret", "X-Api-Key",
		"AWS_SECRET_ACCESS_KEY", "set-cookie", "PGPASSWORD", "secretKey", "passphrase", "credentials", "access_token", "refreshToken", "OPENAI_KEY", "APIKey",
		"signing-key", "csrf_token", "_authToken", "accesstoken", "license_key", "vault.token"} {
		require.True(t, redact.SecretName(name), name)
		require.JSONEq(t, `{"`+name+`":"[redacted]"}`, string(r.JSON(json.RawMessage(`{"`+name+`":"abc"}`))))
		for _, text := range []string{name + `: "hunter2hunter2"`, name + "=hunter2hunter2", `{\"` + name + `\": \"hunter2 \\\"hunter2\\\" hunter2\"}`} {
			require.NotContains(t, r.Text(text), "hunter2", text)
			require.NotContains(t, r.Certain().Text(text), "hunter2", text)
		}
		require.Equal(t, name+`: "hunter2hunter2"`, r.KnownOnly().Text(name+`: "hunter2hunter2"`))
	}
	for _, name := range []string{"prompt_tokens", "key", "capture_as", "keyboard", "tokenizer", "monkey"} {
		require.False(t, redact.SecretName(name), name)
		require.True(t, redact.SecretSetting("X_"+name) || !strings.Contains(name, "token"))
	}
}

// What tells tickets apart, finds a thing in a store or continues a list has a name
// that ends like that of a secret. A model that does not see it cannot go on.
func TestNamesOfPlacesAndThingsHoldNoSecret(t *testing.T) {
	for _, name := range []string{"issue_key", "issueKey", "ISSUE_KEY", "project_key", "projectKey", "primary_key", "PrimaryKey", "s3_key", "S3Key", "S3_KEY", "cache_key", "cacheKey",
		"next_page_token", "nextPageToken", "NextPageToken", "NEXT_PAGE_TOKEN", "next-page-token", "continuation_token", "continuationToken", "NextContinuationToken", "pageToken",
		"nextToken", "nexttoken", "next_sync_token", "syncToken", "cursor_token", "start_token", "resumeToken", "sort_key", "partitionKey", "foreign_key", "object_key", "idempotency_key",
		"idempotency_token", "eos_token", "feature_flag_key", "parentKey", "row-key", "dedup.key"} {
		require.False(t, redact.SecretName(name), name)
		const value = "CAUQAA9f8s7df6Gh2k"
		for _, r := range []*redact.Redactor{redact.New(), redact.New().Certain()} {
			for _, text := range []string{name + ": " + value, name + "=" + value, `{"` + name + `": "` + value + `"}`, name + ` = "` + value + `"`, "?" + name + "=" + value + "&z=1", "--" + name + " " + value} {
				require.Equal(t, text, r.Text(text), name)
			}
			object := json.RawMessage(`{"` + name + `":"` + value + `"}`)
			require.Equal(t, string(object), string(r.JSON(object)))
		}
	}
}

// An address says where a token is given. What it carries is judged by itself.
func TestAddressesAreNoSecrets(t *testing.T) {
	for _, r := range []*redact.Redactor{redact.New(), redact.New().Certain()} {
		for _, text := range []string{`token: "https://example.org/oauth2/token"`, `token: https://example.org/oauth2/v1/token?a=b2`, "AUTH_TOKEN=https://example.org/o2/token", `"secret": "vault://kv2/app1"`, "password: urn:k8s:secret:redis:pass2",
			`{"token":"https://login.example.org/oauth2/token","api_key":"https://example.org/@scope/keys1"}`} {
			require.Equal(t, text, r.Text(text))
			if json.Valid([]byte(text)) {
				require.Equal(t, text, string(r.JSON(json.RawMessage(text))))
			}
		}
		for _, text := range []string{`"token": "https://ada:s3cretpart1x@example.org/"`, `"token":"https://example.org/?access_token=s3cretpart1x9"`} {
			require.NotContains(t, r.Text(text), "s3cretpart1x")
			require.NotContains(t, string(r.JSON(json.RawMessage("{"+text+"}"))), "s3cretpart1x")
		}
	}
}

// What is named like a secret holds one of the words that are looked for, or
// the quick way past a value without secrets would miss it.
func TestEveryNameOfASecretIsLookedAt(t *testing.T) {
	r := redact.New()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z]{0,3}[_-]?(?i:token|api[_-]?key|secret|passphrase|authorization|cookie|credentials?|(private|access|secret)[_-]?key|password|passwd)`).Draw(t, "name")
		if redact.SecretName(name) {
			cleaned := string(r.JSON(json.RawMessage(`{"` + name + `":"5"}`))) // the name may be a key by its shape, too
			require.Contains(t, []string{`{"` + name + `":"[redacted]"}`, `{"[redacted]":"[redacted]"}`}, cleaned)
		}
	})
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	for _, r := range []*redact.Redactor{redact.New(), redact.New().Certain()} {
		for _, text := range []string{"the task-list of https://example.org/a@b and ask-me", "think.next", "a basic idea", "basic understanding",
			"bearer tokens are sent", "tokens: 12", `{"prompt_tokens":12}`, "func key(token string)", "go test ./...", "key: value", "AKIA", "",
			"-----BEGIN CERTIFICATE-----", "a PRIVATE KEY", "://@", "eyJ.a", "password:", "token=", `token == "x"`, "token != nil"} {
			require.Equal(t, text, r.Text(text))
		}
		raw := json.RawMessage(`{"n":9007199254740993, "html":"<a>", "token":5, "password":""}`)
		require.Equal(t, string(raw), string(r.JSON(raw)), "what holds no secret stays byte for byte")
		require.Equal(t, `"no JSON"`, string(r.JSON(json.RawMessage("no JSON"))))
	}
}

func TestSourceCodeStaysUsable(t *testing.T) {
	r := redact.New("supersecretvalue").Certain()
	for _, code := range []string{"password := os.Getenv(\"PASSWORD\")", "func f(token string)", "token: string", "token := next()", "if token == nil {",
		"login(user, password=password)", "token=tokens[0]", `apiKey: process.env.API_KEY1`, `"token": "${TOKEN}"`, "secret: v1.Secret{", "prompt_tokens: 5",
		"func secret(a int) {}", "the token of a run", "  password:\n    type: string"} {
		require.Equal(t, code, r.Text(code))
	}
	for code, want := range map[string]string{
		"key = supersecretvalue":                      "key = [redacted]",
		`const token = "hunter2"`:                     `const token = "[redacted]"`,
		`password: 'hunter2' # mine`:                  `password: '[redacted]' # mine`,
		"'api_key' => `hunter2`":                      "'api_key' => `[redacted]`",
		"DB_PASSWORD=swordfish\nx":                    "DB_PASSWORD=[redacted]\nx",
		"host=h password=hunter2 user=ada":            "host=h password=[redacted] user=ada",
		"X-Api-Key: abcdef123":                        "X-Api-Key: [redacted]",
		`{\"password\": \"a\\\"b\", \"user\": \"u\"}`: `{\"password\": \"[redacted]\", \"user\": \"u\"}`,
	} {
		require.Equal(t, want, r.Text(code))
	}
}

func TestWhatIsLoggedHasNoAssignments(t *testing.T) {
	r := redact.New()
	for text, want := range map[string]string{
		"Cookie: session=abc; id=x y\nHost: h":    "Cookie: [redacted]\nHost: h",
		"Authorization: Digest a=1, b=2":          "Authorization: [redacted]",
		`curl -H "Authorization: token abc" http`: `curl -H "Authorization: [redacted]" http`,
		"?token=abc&x=1":                          "?token=[redacted]&x=1",
		"password: swordfish":                     "password: [redacted]",
		`password="not closed`:                    `password="[redacted]`,
	} {
		require.Equal(t, want, r.Text(text))
		require.Equal(t, want, r.Text(want), "once is enough")
	}
}

func TestValuesOfAnyType(t *testing.T) {
	r := redact.New()
	given := map[string]any{"a": []any{planted[0], 1, nil}, "b": struct{ Text string }{planted[1]}, "c": func() {}, "d": map[string]string{"Authorization": "x"}}
	require.Equal(t, map[string]any{"a": []any{redact.Mark, 1, nil}, "b": map[string]any{"Text": redact.Mark}, "c": redact.Mark,
		"d": map[string]any{"Authorization": redact.Mark}}, r.Value(given))
	require.Equal(t, planted[0], given["a"].([]any)[0], "the one given is not changed")
}

// FuzzJSON shows that a known value gets through in no JSON, and that what
// comes out is JSON.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":"`, `"}`)
	f.Add(`[`, `]`)
	f.Add(`0}`, `0`) // one value, and something behind it
	f.Add(`{"a":{"b":["x`, `y"]}}`)
	r := redact.New("supersecretvalue")
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, each := range []*redact.Redactor{r, r.Certain(), r.KnownOnly()} {
			in := before + "supersecretvalue" + after
			out := each.JSON(json.RawMessage(in))
			require.True(t, json.Valid(out), "%s gives %s", in, out)
			require.NotContains(t, string(out), "supersecretvalue")
		}
	})
}

// FuzzText shows that no text panics, that a known value is gone from each, and
// that secrets by their shape are, wherever they begin.
func FuzzText(f *testing.F) {
	f.Add(`password: "`, `\"`)
	f.Add("-----BEGIN ", "PRIVATE KEY-----")
	f.Add(`{\"token\":\"`, `\\\"`)
	r := redact.New("supersecretvalue")
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, each := range []*redact.Redactor{r, r.Certain(), r.KnownOnly()} {
			require.NotContains(t, each.Text(before+"supersecretvalue"+after), "supersecretvalue")
		}
		require.NotContains(t, r.Text(before+" "+planted[0]+" "+after), planted[0])
	})
}

// TestNoTextTakesLong: texts that are made to be looked through again and again
// take as long as others. Where they did not, this would take minutes.
func TestNoTextTakesLong(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent, and the race detector slows it tenfold")
	}
	const size = 1 << 18
	for _, part := range []string{"token=", "token:", "sk-", "-eyJ", "eyJabcdefg.", "://", "a://b", "-----BEGIN PRIVATE KEY-----", "bearer ", "basic\t", "token=\"", "token='token=\"",
		`token=\"`, "authorization: ", "PASSWORD=", `token\\\\`, "aaaaaaaa", "secret  =", "key", "cookie:\n", "%41", "%25", "a%3Ab\\u0041", "QUFB", "LS0tLS1CRUdJTi\n", "-END "} {
		text := strings.Repeat(part, size/len(part))
		r := redact.New("aaaaaaaaaaaaaaaa")
		for _, each := range []*redact.Redactor{r, r.Certain(), r.KnownOnly()} {
			_ = each.Text(text)
			_ = each.Text(text + "-----END PRIVATE KEY-----")
		}
	}
}

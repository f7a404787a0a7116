package telemetry_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/telemetry"
)

// planted are secrets by shape: no environment tells of them.
var planted = []string{
	"sk-proj-" + "abcdefghijklmnop1234",
	"AKIA" + "IOSFODNN7EXAMPLE",
	"ghp_" + "abcdefghijklmnopqrstuvwxyz012345",
	"github_pat_" + "11AAAAAAA0abcdefghij",
	"xoxb-" + "123456789012-abcdef",
	"eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
	"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
}

const known = `correct "horse" battery/staple?`

func TestSecretsPlantedEverywhereAreGone(t *testing.T) {
	redactor := telemetry.RedactorOf([]string{"PATH=/usr/bin", "MY_API_TOKEN=" + known, "MONGO_URI=mongodb://u:p@h"})
	for _, secret := range append(planted, known, "Bearer abcdef123456", "https://ada:lovelace@example.org/x") {
		r, folder := recorder(t, telemetry.Options{Redactor: redactor})
		quoted, err := json.Marshal(secret)
		require.NoError(t, err)
		nested, err := json.Marshal(`{"inner":` + string(quoted) + `}`)
		require.NoError(t, err)
		e := full(telemetry.RunFinished)
		e.Args = json.RawMessage(`{"a":[{"b":` + string(quoted) + `}],"text":` + string(nested) + `,` + string(quoted) + `:1}`)
		e.Output = "said " + secret
		e.Error.Details = "it failed with " + secret
		e.ToolName, e.RunID, e.Model = secret, secret, secret
		e.Metadata = map[string]any{"goal": "use " + secret, "final": secret, "headers": map[string]string{"Authorization": "x"},
			"list": []any{secret}, "struct": struct{ Text string }{secret}}
		r.Record(e)
		seen, err := json.Marshal(r.Since(0, 0))
		require.NoError(t, err)
		for _, text := range []string{strings.Join(lines(t, folder, telemetry.TraceFile), "\n"),
			strings.Join(lines(t, folder, telemetry.RuntimeFile), "\n"), string(seen)} {
			for _, form := range forms(secret) {
				require.NotContains(t, text, form)
			}
			require.Contains(t, text, telemetry.Redacted)
		}
	}
}

// forms are what of a secret must be nowhere: for an address and a header, the
// part that is secret.
func forms(secret string) []string {
	switch {
	case strings.HasPrefix(secret, "Bearer"):
		return []string{"abcdef123456"}
	case strings.HasPrefix(secret, "https"):
		return []string{"lovelace"}
	case strings.HasPrefix(secret, "-----"):
		return []string{"MIIEpAIBAAKCAQEA"}
	}
	quoted, _ := json.Marshal(secret)
	return []string{secret, string(quoted[1 : len(quoted)-1])}
}

func TestKnownValuesAreFoundInEveryEncoding(t *testing.T) {
	r := telemetry.NewRedactor(known)
	for _, text := range []string{known, url.QueryEscape(known), url.PathEscape(known),
		base64.StdEncoding.EncodeToString([]byte(known)), base64.RawURLEncoding.EncodeToString([]byte(known))} {
		require.Equal(t, "a "+telemetry.Redacted+" b", r.Text("a "+text+" b"))
	}
}

func TestMembersNamedLikeASecret(t *testing.T) {
	r := telemetry.NewRedactor()
	for _, name := range []string{"token", "api_key", "API_KEY", "apikey", "apiKey", "Authorization", "password", "client_secret", "X-Api-Key", "AWS_SECRET_ACCESS_KEY", "set-cookie"} {
		require.True(t, telemetry.SecretName(name), name)
		require.JSONEq(t, `{"`+name+`":"[redacted]"}`, string(r.JSON(json.RawMessage(`{"`+name+`":"abc"}`))))
		require.NotContains(t, r.Text(name+`: "hunter2hunter2"`), "hunter2", name)
	}
	for _, name := range []string{"prompt_tokens", "key", "capture_as", "keyboard", "tokenizer", "monkey"} {
		require.False(t, telemetry.SecretName(name), name)
	}
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	r := telemetry.RedactorOf([]string{"A_TOKEN=short", "B_TOKEN="})
	for _, text := range []string{"short", "the task-list of https://example.org/a@b and ask-me", "think.next", "a basic idea",
		"tokens: 12", `{"prompt_tokens":12}`, "func key(token string)", "go test ./..."} {
		require.Equal(t, text, r.Text(text))
	}
	raw := json.RawMessage(`{"n":9007199254740993, "html":"<a>"}`)
	require.Equal(t, string(raw), string(r.JSON(raw)), "what holds no secret stays byte for byte")
	require.Equal(t, `"no JSON"`, string(r.JSON(json.RawMessage("no JSON"))))
}

func TestSourceCodeStaysUsable(t *testing.T) {
	r := telemetry.NewRedactor("supersecretvalue").Certain()
	code := "password := os.Getenv(\"PASSWORD\")\nfunc f(token string)\ntoken: string"
	require.Equal(t, code, r.Text(code))
	require.Equal(t, "key = "+telemetry.Redacted, r.Text("key = supersecretvalue"))
	require.Equal(t, telemetry.Redacted, r.Text(planted[0]))
}

// FuzzJSON shows that a known value gets through in no JSON, and that what
// comes out is JSON.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":"`, `"}`)
	f.Add(`[`, `]`)
	f.Add(`0}`, `0`) // one value, and something behind it
	f.Add(`{"a":{"b":["x`, `y"]}}`)
	r := telemetry.NewRedactor("supersecretvalue")
	f.Fuzz(func(t *testing.T, before, after string) {
		in := before + "supersecretvalue" + after
		out := r.JSON(json.RawMessage(in))
		require.True(t, json.Valid(out), "%s gives %s", in, out)
		require.NotContains(t, string(out), "supersecretvalue")
	})
}

func TestLogsAreForTheirOwnerAlone(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{})
	r.Record(full(telemetry.RunFinished))
	for name, mode := range map[string]os.FileMode{"logs": 0o700, telemetry.TraceFile: 0o600, telemetry.RuntimeFile: 0o600} {
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
}

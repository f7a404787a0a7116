package telemetry_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/redact"
	"savant/telemetry"
)

// planted are secrets that are recognized by their form, not from the environment.
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
	redactor := redact.FromEnvironment([]string{"PATH=/usr/bin", "MY_API_TOKEN=" + known, "MONGO_URI=mongodb://u:p@h"})
	for _, secret := range append(planted, known, "Bearer abcdef123456", "https://ada:lovelace@example.org/x") {
		var observed []telemetry.Event
		r, folder := recorder(t, telemetry.Options{Redactor: redactor, Watcher: watcherFunc(func(e telemetry.Event) { observed = append(observed, e) })})
		quoted, err := json.Marshal(secret)
		require.NoError(t, err)
		nested, err := json.Marshal(`{"inner":` + string(quoted) + `}`)
		require.NoError(t, err)
		e := full(telemetry.RunFinished)
		e.Args = json.RawMessage(`{"a":[{"b":` + string(quoted) + `}],"text":` + string(nested) + `,` + string(quoted) + `:1}`)
		e.Output = "said " + secret
		e.Error.Details = "it failed with " + secret
		for fields, at := reflect.ValueOf(&e).Elem(), 0; at < fields.NumField(); at++ { // whatever an event says
			if name := fields.Type().Field(at).Name; fields.Field(at).Kind() == reflect.String && name != "Type" && name != "Source" && name != "Timestamp" {
				fields.Field(at).SetString(secret)
			}
		}
		e.Who = telemetry.Who{By: secret, Claims: secret}
		e.Metadata = map[string]any{"goal": "use " + secret, "final": secret, "headers": map[string]string{"Authorization": "x"},
			"list": []any{secret}, "struct": struct{ Text string }{secret}}
		r.Record(e)
		seen, err := json.Marshal(observed)
		require.NoError(t, err)
		for _, text := range []string{strings.Join(lines(t, folder, telemetry.TraceFile), "\n"),
			strings.Join(lines(t, folder, telemetry.RuntimeFile), "\n"), string(seen)} {
			for _, form := range forms(secret) {
				require.NotContains(t, text, form)
			}
			require.Contains(t, text, redact.Mark)
		}
	}
}

// forms returns the texts that must not appear anywhere. For an address and a header it
// is the secret part.
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

func TestLogsAreForTheirOwnerAlone(t *testing.T) {
	r, folder := recorder(t, telemetry.Options{})
	r.Record(full(telemetry.RunFinished))
	for name, mode := range map[string]os.FileMode{"logs": 0o700, telemetry.TraceFile: 0o600, telemetry.RuntimeFile: 0o600} {
		info, err := os.Stat(filepath.Join(folder, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), name)
	}
}

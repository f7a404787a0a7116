package redact

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cutsOfKeys are what stands within a word that was cut: concatenations and continued lines of source code, also
// in JSON and in a diff, and colours.
var cutsOfKeys = []string{`" + "`, "\" +\n\t\"", "\"\n    \"", `" . "`, "\" & _\n\"", `\" + \"`, "\" +\n+\t\"", "\\\n", "\\\r\n", "\\\n+", "\x1b[0m"}

// Of 128 keys that something cuts at a quarter, in the middle or at three quarters, 126 are found.
func TestKeysThatAreCut(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine tries thousands of texts")
	}
	keys := append(documentedKeys(5), lookalikes(5)...)
	for _, r := range []*Redactor{New(), New().Certain()} {
		for _, cut := range cutsOfKeys {
			for _, quarter := range []int{1, 2, 3} {
				shown := []string{}
				for _, key := range keys {
					at := strings.Index(key.text, key.random) + len(key.random)*quarter/4
					if left := r.Text(`please use "` + key.text[:at] + cut + key.text[at:] + `" for it`); shows(left, key.random) {
						shown = append(shown, left)
					}
				}
				require.LessOrEqual(t, len(shown)*128, len(keys)*2, "%q: %q", cut, shown)
			}
		}
		shown := []string{}
		for _, key := range keys {
			if left := r.Text("GET /cb?note=" + url.QueryEscape(key.text) + "&z=2"); shows(left, key.random) {
				shown = append(shown, left)
			}
		}
		require.LessOrEqual(t, len(shown)*128, len(keys)*2, "%q", shown)
	}
	require.Equal(t, "GET /run?cmd=tool+--token+"+Mark, New().Certain().Text("GET /run?cmd=tool+--token+k3e9Ssi4kZcvTI"))
}

// What only resembles a cut joins nothing.
func TestWhatIsNoCut(t *testing.T) {
	for _, text := range []string{"\tTOKEN_KIND = 0x000C\n\tIMAGE_REL_ARM64_SECTION = 0x1", `method {"client_secret_basic" | "basic" | "post"}`, "key: k8s2Node\nname2: app3Two", "S3_PATH=a1b2c3d4\nS4_PATH=x"} {
		require.Equal(t, text, New().Certain().Text(text))
	}
	for _, text := range []string{"\tNL80211_TKIP_DATA_OFFSET_RX_MIC_KEY                     = 0x18\n\tNL80211_TKIP_DATA_OFFSET_TX_MIC_KEY                     = 0x10",
		"config.PrivateKey = testPrivateKey\n\tserverConfig.BuildNameToCertificate()", "vector.PrivateKey = privateKey\n\tvector.PublicKey, _ = publicKey(it)", "x._password?x._password+=M:x._username+=M"} {
		require.Equal(t, text, New().Certain().Text(text))
	}
	key := made(letters+digits, 24)
	for text, want := range map[string]string{
		`-H "Authorization: Bearer ` + key + `" "https://example.org/v2/a1"`:               `-H "Authorization: ` + Mark + `" "https://example.org/v2/a1"`,
		`-H "Authorization: Bearer ` + key + `" \` + "\n" + ` "https://example.org/v2/a1"`: `-H "Authorization: ` + Mark + `" \` + "\n" + ` "https://example.org/v2/a1"`,
		"https://" + key + "%3D@example.org/":                                              "https://" + Mark + "@example.org/",
		`"Cookie: a=` + key + `\n" + "Accept: a1"`:                                         `"Cookie: ` + Mark + `" + "Accept: a1"`,
	} {
		require.Equal(t, want, New().Text(text))
	}
	// What is joined ends between words, wherever a cut is near.
	for pad := range nearCut + 50 {
		for _, text := range []string{"PUBLIC_KEY=A1b2c3D4e5F6g7 " + strings.Repeat("-", pad) + "\n X1y2Zz\nA1b2Cc3", "X1y2Zz\nA1b2Cc3 " + strings.Repeat("-", pad) + " " + strings.Repeat("aAKIAABCDEFGHIJKLMNOP", 9)} {
			require.Equal(t, text, New().Certain().Text(text))
		}
	}
	require.Equal(t, "API_KEY="+Mark+"\nS3_REGION=eu-1", New().Text("API_KEY="+key+"\nS3_REGION=eu-1"))
}

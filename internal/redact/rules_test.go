package redact

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryRuleIsOne(t *testing.T) {
	lines := 0
	for line := range strings.Lines(rulesFile) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, fields, 5, line)
		_, err := strconv.ParseFloat(fields[1], 64)
		require.NoError(t, err, line)
		group, err := strconv.Atoi(fields[2])
		require.NoError(t, err, line)
		compiled, err := regexp.Compile(fields[4])
		require.NoError(t, err, line)
		require.LessOrEqual(t, group, compiled.NumSubexp(), line)
		for keyword := range strings.FieldsSeq(fields[3]) {
			require.GreaterOrEqual(t, len(keyword), shortest, line)
		}
	}
	require.Len(t, rules(), lines)
	require.Greater(t, lines, 200)
	require.Contains(t, rulesFile, "MIT License")
}

// made is a made-up key: letters of an alphabet, the same on each run.
func made(alphabet string, length int) string {
	random := rand.New(rand.NewPCG(uint64(length), uint64(len(alphabet))))
	key := make([]byte, length)
	for i := range key {
		key[i] = alphabet[random.IntN(len(alphabet))]
	}
	return string(key)
}

// keysOfServices are made-up keys of well-known services, each in parts, so that
// this file holds none.
func keysOfServices() map[string]string {
	const hex, small, capitals = "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	word := letters + digits
	return map[string]string{
		"OpenAI":       "sk-" + "proj-" + made(word, 74) + "T3Blbk" + "FJ" + made(word, 74),
		"Anthropic":    "sk-" + "ant-api03-" + made(word, 93) + "AA",
		"GitHub":       "ghp" + "_" + made(word, 36),
		"GitHub fine":  "github" + "_pat_" + made(word, 82),
		"GitLab":       "glpat" + "-" + made(word, 20),
		"Slack":        "xoxb" + "-" + made(digits, 12) + "-" + made(digits, 12) + "-" + made(word, 24),
		"Slack hook":   "https://hooks." + "slack.com/services/" + made(word, 44),
		"AWS":          "AKIA" + made(capitals, 16),
		"Google":       "AIza" + made(word, 35),
		"Stripe":       "sk" + "_live_" + made(word, 24),
		"Hugging Face": "hf" + "_" + made(letters, 34),
		"npm":          "npm" + "_" + made(small, 36),
		"Twilio":       "SK" + made(hex, 32),
		"SendGrid":     "SG" + "." + made(small, 66),
		"Mailgun":      `mailgun_id = "key-` + made(hex, 32) + `"`,
		"PyPI":         "pypi" + "-AgEIcHlwaS5vcmc" + made(word, 60),
		"DigitalOcean": "dop" + "_v1_" + made(hex, 64),
		"Doppler":      "dp" + ".pt." + made(small, 43),
		"Shopify":      "shpat" + "_" + made(hex, 32),
		"Linear":       "lin" + "_api_" + made(small, 40),
		"Notion":       "ntn" + "_" + made(digits, 11) + made(word, 35),
		"Postman":      "PMAK" + "-" + made(hex, 24) + "-" + made(hex, 34),
		"Databricks":   "dapi" + made(hex, 32),
		"Vault":        "hvs" + "." + made(word, 95),
		"Grafana":      "glsa" + "_" + made(word, 32) + "_" + made(hex, 8),
		"New Relic":    `new_relic = "NRAK` + "-" + made(small, 27) + `"`,
		"age":          "AGE-SECRET" + "-KEY-1" + made("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
		"PlanetScale":  "pscale" + "_tkn_" + made(word, 40),
		"Azure":        made(word, 3) + "8Q~" + made(word, 34),
		"RubyGems":     "rubygems" + "_" + made(hex, 48),
		"Pulumi":       "pul" + "-" + made(hex, 40),
		"Telegram":     `telegram_bot = "` + made(digits, 9) + ":A" + made(word, 34) + `"`,
	}
}

func TestKeysOfServices(t *testing.T) {
	filler := strings.Repeat("some words that hold none, and sk- ghp_ dapi too. ", 100)
	for _, r := range []*Redactor{New(), New().Certain()} {
		for service, key := range keysOfServices() {
			for _, text := range []string{"a " + key, "a " + key + "\nb", filler + key + " " + filler} {
				cleaned := r.Text(text)
				require.NotContains(t, cleaned, key[len(key)-12:], service)
				require.Contains(t, cleaned, Mark, service)
				if text == filler+key+" "+filler {
					require.True(t, strings.HasPrefix(cleaned, filler) && strings.HasSuffix(cleaned, filler), "%s: what is around stays", service)
				}
			}
			inside, err := json.Marshal([]string{key})
			require.NoError(t, err)
			require.NotContains(t, string(r.JSON(inside)), key[len(key)-12:], service)
		}
	}
}

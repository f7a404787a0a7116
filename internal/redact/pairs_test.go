package redact

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The keys of Zhipu and Mailgun, and ngrok's tokens, have no prefix; they are known by their
// parts.
func TestKeysOfTwoParts(t *testing.T) {
	const hex, alnum, ngrok = "3f9a1c07be42d58860aa17f3c9d24b5e", "Qk7ZpW2xLm9RtY4c", "2bXk9QmZr7TfWv3LpNc8HsYd1Ga_5JtRw6KzVn2MbQx9PcLf4"
	require.Len(t, ngrok, 49)
	for _, key := range []string{hex + "." + alnum, ngrok, hex + "-7c0de19b-4fa2e86d"} {
		for carrier, carry := range carriers() {
			text := carry(key)
			for _, r := range []*Redactor{New(), New().Certain()} {
				left := r.Text(text)
				if json.Valid([]byte(text)) {
					left = string(r.JSON(json.RawMessage(text)))
				}
				require.Contains(t, left, Mark, carrier)
				require.False(t, shows(left, key), "%s: %s", carrier, left)
			}
		}
	}
	for _, text := range []string{hex + ".abcdefgh1jklmnop", hex + ".Qk7ZpW2xLm9RtY4cX", "a" + hex + "." + alnum, strings.ToUpper(hex) + "." + alnum, hex + "." + "index_AbcDefGhij",
		hex + "-7c0de19b-4fa2e86d-11aa22bb", hex + "-7c0de19b-4fa2e86", hex + "-7c0de19b4fa2e86d1", hex + "-7c0de19b-readme42", "5f0c6a1b-7c0d-e19b-4fa2-e86d11aa22bb", hex + "-2",
		"e2bXk9QmZr7TfWv3LpNc8HsYd1Ga_5JtRw6KzVn2MbQx9PcLf4", "2" + strings.Repeat("a", 26) + "_" + strings.Repeat("B", 21)} {
		require.Equal(t, text, New().Certain().Text(text))
	}
}

// What stands below "password" in a table is a secret, whatever it looks like.
func TestColumnsOfSecrets(t *testing.T) {
	for table, secrets := range map[string][]string{
		"id,user,password,when\n7,ada,correcthorse,2026-01-02\n8,bob,batterystaple,2026\n": {"correcthorse", "batterystaple"},
		"password\tuser\r\ntrombone\tada\r\n":                                              {"trombone"},
		"\"user\";\"db_password\"\n\"ada\";\"corr;ect\"\"horse\"\n":                        {"corr;ect", "horse"},
		"@@ -0,0 +1,2 @@\n+user,apiKey\n+ada,Zk29vbQ8s7\n":                                 {"Zk29vbQ8s7"},
	} {
		for _, r := range []*Redactor{New(), New().Certain()} {
			for _, text := range []string{table, base64.StdEncoding.EncodeToString([]byte(table))} {
				left := r.Text(text)
				require.Contains(t, left, Mark, text)
				for _, each := range secrets {
					require.NotContains(t, left, each)
				}
			}
			require.Contains(t, r.Text(table), "ada")
			for _, each := range secrets {
				inside, err := json.Marshal(map[string]string{"output": table})
				require.NoError(t, err)
				require.NotContains(t, string(r.JSON(inside)), each)
			}
		}
	}
	for _, text := range []string{"user,password\nada,changeme\nbob,${PASSWORD}\n", "next_page_token,primary_key\nabc123def,k123456\n", "user,token\nada,some-words\n",
		"ADDRESS,PASSWORD\n\nx := f(password, user)\ny(a,b)\n", "user,password\nthis line has one column\n"} {
		require.Equal(t, text, New().Certain().Text(text))
	}
}

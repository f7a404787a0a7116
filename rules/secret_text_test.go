package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/rules"
)

// TestTheTextOfRulesIsWithoutSecretFacts writes secret facts in each form of YAML.
func TestTheTextOfRulesIsWithoutSecretFacts(t *testing.T) {
	for text, want := range map[string]string{
		"  a: {value: swordfish, secret: true}\n":                                        "  a: [redacted]\n",
		"  a: {secret: true, value: 7}\n  b: {value: 7}\n":                               "  a: [redacted]\n  b: {value: 7}\n",
		"  a:\n    secret: true\n    value: [swordfish, 12]\n":                           "  a:\n    [redacted]\n",
		"  a: {value: \"sword\\u0066ish\", secret: true}\n":                              "  a: [redacted]\n",
		"  a: {value: swordfish, secret: true}\n  b: \"swordfish!\"\n":                   "  a: [redacted]\n  b: \"[redacted]!\"\n",
		"  a: {value: swordfish, secret: false}\n":                                       "  a: {value: swordfish, secret: false}\n",
		"  é: {value: swordfish, secret: true}\n  c: {value: swordfish, secret: true}\n": "  é: [redacted]\n  c: [redacted]\n",
	} {
		source := func(facts string) string {
			return "name: r\nversion: \"1.0\"\nfacts:\n" + facts + "rules:\n  - {id: x, before: git.log, deny: true}\n"
		}
		file, err := rules.Parse("rules/r.yaml", []byte(source(text)))
		require.NoError(t, err, text)
		require.Equal(t, source(want), file.WithoutSecrets(source(text)), text)
	}
}

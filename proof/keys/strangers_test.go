package keys_test

import (
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"savant/proof/keys"
)

// TestAllowedSignersAsSSHKeygen reads lines of allowed signers, and asks ssh-keygen whether
// the key of each counts. What ssh-keygen does not take may be an error.
func TestAllowedSignersAsSSHKeygen(t *testing.T) {
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	folder := t.TempDir()
	made, err := keys.Open(filepath.Join(folder, "keys")).New("k")
	require.NoError(t, err)
	signer, err := keys.Open(filepath.Join(folder, "keys")).Signer("k", "")
	require.NoError(t, err)
	message := "message"
	raw, err := keys.Sign(signer, []byte(message))
	require.NoError(t, err)
	signature := filepath.Join(folder, "sig")
	require.NoError(t, os.WriteFile(signature, armored(raw), 0o600))
	public := strings.TrimSuffix(made.Public, " k")
	for _, line := range []string{
		"ada KEY", "ada KEY comment with words", "ada,eve KEY", "*@example.com KEY", "!bob,* KEY", "\"ada l\" KEY", " ada KEY", "\tada\tKEY", "ada KEY\r", "a\u030ada KEY", "ada   KEY",
		"ada namespaces=\"proof@savant\" KEY", "ada namespaces=\"git,proof@savant\" KEY", "ada namespaces=\"git\" KEY", "ada namespaces=\"proof@*\" KEY", "ada namespaces=\"[p]roof@savant\" KEY",
		"ada namespaces=\"p?oof@savant\" KEY", "ada namespaces=\"proof@savant,!proof@*\" KEY", "ada namespaces=\"PROOF@SAVANT\" KEY", "ada namespaces=\"\" KEY", "ada namespaces=proof@savant KEY",
		"ada NAMESPACES=\"proof@savant\" KEY", "ada namespaces=\"proof@savant \" KEY", "ada namespaces=\"git, proof@savant\" KEY", "ada namespaces=\"proof@savan[a-z]\" KEY", "ada namespaces=\"proof\\\\@savant\" KEY",
		"ada namespaces=\"git\",namespaces=\"proof@savant\" KEY", "ada namespaces=\"*,!git\" KEY", "ada namespaces=\"!git\" KEY", "ada namespaces=\"**\" KEY", "ada namespaces=\"proof@savant\\\"\" KEY",
		"ada valid-after=\"20200101\" KEY", "ada valid-after=\"20990101\" KEY", "ada valid-before=\"20200101\" KEY", "ada valid-before=\"20990101\" KEY", "ada valid-after=\"20200101Z\" KEY", "ada valid-after=\"202001010000\" KEY",
		"ada valid-after=\"20200101000000Z\" KEY", "ada valid-after=\"2020010100\" KEY", "ada valid-after=\"2020-01-01\" KEY", "ada valid-after=\"20201301\" KEY", "ada valid-after=\"19691231\" KEY", "ada valid-after=\"\" KEY", "ada Valid-After=\"20200101\" KEY",
		"ada valid-after=\"20200101\",valid-before=\"20190101\" KEY", "ada valid-after=\"20200101\",valid-after=\"20990101\" KEY", "ada valid-after=20200101 KEY", "ada valid-before=\"20380119031408Z\" KEY", "ada valid-before=\"21500101\" KEY",
		"ada cert-authority KEY", "ada CERT-AUTHORITY KEY", "ada cert-authority,namespaces=\"proof@savant\" KEY", "ada no-touch-required KEY", "ada verify-required KEY", "ada unknown KEY", "ada unknown=\"x\" KEY",
		"ada", "KEY", "# ada KEY", "", "ada ssh-ed25519 AAAA", "ada namespaces=\"git\" KEY\nada KEY", "ada valid-before=\"20200101\" KEY\nada KEY", "ada cert-authority KEY\nada KEY", "\ufeffada KEY", "\"ada KEY", "ada\" KEY", "\"\" KEY",
	} {
		text := strings.ReplaceAll(line, "KEY", public) + "\n"
		file := filepath.Join(folder, "allowed")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		command := exec.CommandContext(t.Context(), keygen, "-Y", "find-principals", "-n", keys.Namespace, "-s", signature, "-f", file)
		out, _ := command.Output() // its code says the same
		found, err := keys.AllowedSigners([]byte(text))
		counts := false
		for _, each := range found {
			counts = counts || each.Fingerprint == ssh.FingerprintSHA256(signer.PublicKey()) && each.At(time.Now())
		}
		counts = counts && err == nil
		if who := strings.TrimSpace(string(out)); who != "" { // find-principals does not look at the namespace
			command := exec.CommandContext(t.Context(), keygen, "-Y", "verify", "-n", keys.Namespace, "-I", strings.Split(who, "\n")[0], "-s", signature, "-f", file)
			command.Stdin = strings.NewReader(message)
			assert.Equal(t, command.Run() == nil, counts, "%q %v", line, err)
		} else {
			assert.False(t, counts, line)
		}
	}
}

// armored is a signature as ssh-keygen writes it.
func armored(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: raw})
}

package keys_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"savant/fault"
	"savant/proof/keys"
)

// file writes a private key and its public part, and returns the name of the first.
func file(t *testing.T, key any, passphrase string) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "test")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "test", []byte(passphrase))
	}
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "id")
	require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	signer, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name+".pub", ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o600))
	return name
}

// TestWhatSigns signs with keys of files and of an agent.
func TestWhatSigns(t *testing.T) {
	ring := keys.Open(t.TempDir())
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	held := agent.NewKeyring()
	require.NoError(t, held.Add(agent.AddedKey{PrivateKey: key}))
	socket := filepath.Join(t.TempDir(), "agent")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(held, connection) }()
		}
	}()
	plain, locked := file(t, key, ""), file(t, key, "secret")
	for _, name := range []string{plain, plain + ".pub", locked, locked + ".pub"} {
		signer, err := ring.Signer(name, socket)
		require.NoError(t, err, name)
		signature, err := keys.Sign(signer, []byte("message"))
		require.NoError(t, err)
		found, err := keys.Check(signature, strings.NewReader("message"))
		require.NoError(t, err)
		require.Equal(t, ssh.FingerprintSHA256(signer.PublicKey()), ssh.FingerprintSHA256(found))
		_, err = keys.Check(signature, strings.NewReader("another"))
		require.Error(t, err)
		_, err = keys.Check(append(signature, 0), strings.NewReader("message"))
		require.Error(t, err)
	}
	for _, name := range []string{plain + ".pub", locked} {
		_, err := ring.Signer(name, "")
		require.ErrorIs(t, err, fault.InvalidParams, "no agent")
	}
	for mode, others := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o700: false, 0o640: true, 0o604: true, 0o620: true, 0o601: true} {
		require.NoError(t, os.Chmod(plain, mode))
		_, err := ring.Signer(plain, socket)
		require.Equal(t, others, err != nil, "%o", mode)
		if others {
			require.ErrorIs(t, err, fault.InvalidParams)
			require.ErrorContains(t, err, "chmod 600 "+plain)
		}
		require.NoError(t, os.Chmod(plain+".pub", 0o644))
		_, err = ring.Signer(plain+".pub", socket)
		require.NoError(t, err, "a public key is for everyone")
	}
	unsafe, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, err = ring.Signer(file(t, unsafe, ""), socket)
	require.ErrorContains(t, err, "cannot sign a proof")
}

// TestAKeyIsForItsOwnerOnly makes, lists and revokes keys.
func TestAKeyIsForItsOwnerOnly(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	ring := keys.Open(folder)
	all, err := ring.List()
	require.NoError(t, err)
	require.Empty(t, all)
	made, err := ring.New("mine")
	require.NoError(t, err)
	for _, name := range []string{"mine", "mine.pub"} {
		info, err := os.Stat(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	_, err = ring.New("mine")
	require.ErrorIs(t, err, fault.StateConflict)
	_, err = ring.Revoke("mine")
	require.NoError(t, err)
	_, err = ring.Signer("mine", "")
	require.ErrorContains(t, err, "revoked")
	revoked, err := ring.Revoked()
	require.NoError(t, err)
	require.Equal(t, []string{made.Fingerprint}, revoked)
}

// TestAllowedSigners reads the lines of ssh-keygen.
func TestAllowedSigners(t *testing.T) {
	made, err := keys.Open(t.TempDir()).New("k")
	require.NoError(t, err)
	found, err := keys.AllowedSigners([]byte("# people\n\nada,eve namespaces=\"git," + keys.Namespace + "\",valid-after=\"20260101Z\",valid-before=\"20270101Z\" " + made.Public + "\nbob namespaces=\"git\" " + made.Public + "\n"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, made.Fingerprint, found[0].Fingerprint)
	for day, counts := range map[string]bool{"2025-12-31": false, "2026-06-01": true, "2027-01-01": false} {
		at, err := time.Parse(time.DateOnly, day)
		require.NoError(t, err)
		require.Equal(t, counts, found[0].At(at), day)
	}
	for list, counts := range map[string]int{"proof@*": 1, "git,p?oof@savant": 1, "*,!proof@savant": 0, "!git,*": 1, "!proof@*,proof@savant": 0, "!git": 0, "[": 0, "": 0} {
		found, err = keys.AllowedSigners([]byte("ada\tnamespaces=\"" + list + "\" " + made.Public))
		require.NoError(t, err)
		require.Len(t, found, counts, list)
	}
	found, err = keys.AllowedSigners([]byte("\"ada l\" " + made.Public))
	require.NoError(t, err)
	require.Equal(t, "ada l", found[0].Name)
	for _, wrong := range []string{"ada", "ada ssh-ed25519 AAAA", "ada no-touch-required " + made.Public, "ada valid-after=\"soon\" " + made.Public} {
		_, err := keys.AllowedSigners([]byte(wrong))
		require.ErrorIs(t, err, fault.InvalidParams, wrong)
	}
}

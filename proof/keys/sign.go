package keys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"savant/fault"
	"savant/internal/regular"
)

// Namespace keeps a signature of a proof from counting for anything else, and the other
// way round: ssh-keygen takes it as -n.
const Namespace = "proof@savant"

// checkAlgorithm takes the kinds of keys that browsers can check, Ed25519 and ECDSA; neither
// certificates nor hardware keys, whose kinds have an @.
func checkAlgorithm(key ssh.PublicKey) error {
	if kind := key.Type(); kind != ssh.KeyAlgoED25519 && !strings.HasPrefix(kind, "ecdsa-sha2-") || strings.Contains(kind, "@") {
		return fault.New(fault.InvalidParams, "a key of type %s cannot sign a proof: use Ed25519 or ECDSA", fault.Cut(kind, 60))
	}
	return nil
}

// Signer returns what signs with a key: one of the ring by name, or a file. A private key
// that is protected, or a public one, is asked of the agent at a socket.
func (r Ring) Signer(key, socket string) (ssh.Signer, error) {
	named := !strings.ContainsAny(key, `/.`)
	if named {
		if own, err := r.Show(key); err != nil {
			return nil, err
		} else if own.Revoked {
			return nil, fault.New(fault.InvalidParams, "the key %s is revoked: savant key new makes another", key)
		}
		key = filepath.Join(r.folder, key)
	}
	text, err := File(key)
	if err != nil {
		return nil, err
	}
	signer, err := parse(text, socket)
	if err == nil {
		err = checkMode(key, text)
	}
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "%s: %w", filepath.Base(key), err)
	}
	return signer, checkAlgorithm(signer.PublicKey())
}

// checkMode refuses a private key that others could read, as ssh does. Windows has no such
// modes.
func checkMode(key string, text []byte) error {
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" || !bytes.Contains(text, []byte("PRIVATE KEY")) {
		return err
	}
	return fmt.Errorf("others than you can read it (mode %04o): chmod 600 %s", info.Mode().Perm(), key)
}

// File returns a file of keys, which is small.
func File(name string) ([]byte, error) {
	text, err := regular.ReadPath(name, maxKeyFile)
	switch {
	case errors.Is(err, regular.ErrTooLarge):
		return nil, fault.New(fault.LimitExceeded, "the key %s has more than %d bytes", filepath.Base(name), maxKeyFile)
	case err != nil:
		return nil, fault.New(fault.InvalidParams, "the key %s cannot be read: %w", filepath.Base(name), fault.WithoutPath(err))
	}
	return text, nil
}

func parse(text []byte, socket string) (ssh.Signer, error) {
	if public, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
		return fromAgent(public, socket)
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		if locked.PublicKey == nil {
			return nil, errors.New("it has a passphrase; add it to the agent with ssh-add, and name its .pub file")
		}
		return fromAgent(locked.PublicKey, socket)
	}
	if err != nil {
		return nil, errors.New("it is no key of OpenSSH")
	}
	return signer, nil
}

// fromAgent returns the signer of a key that an SSH agent holds.
func fromAgent(public ssh.PublicKey, socket string) (ssh.Signer, error) {
	if socket == "" {
		return nil, errors.New("its private part is not here, and no agent runs: start one, and add the key with ssh-add")
	}
	connection, err := net.Dial("unix", socket)
	if err != nil {
		return nil, errors.New("the SSH agent does not answer")
	}
	held, err := agent.NewClient(connection).Signers() // the connection lasts as long as the process
	if err != nil {
		return nil, errors.New("the SSH agent does not list its keys")
	}
	for _, each := range held {
		if bytes.Equal(each.PublicKey().Marshal(), public.Marshal()) {
			return each, nil
		}
	}
	return nil, errors.New("the SSH agent does not hold it: add it with ssh-add")
}

// Sign returns the signature of a message, as ssh-keygen -Y sign makes it, without the
// armor.
func Sign(signer ssh.Signer, message []byte) ([]byte, error) {
	signature, err := sshsig.Sign(bytes.NewReader(message), signer, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, fault.New(fault.Internal, "signing: %w", err)
	}
	return signature.Marshal(), nil
}

// Check returns the key that a signature of a message is of. Whether that key counts is
// another question.
func Check(signature []byte, message io.Reader) (ssh.PublicKey, error) {
	parsed, err := sshsig.ParseSignature(signature)
	if err != nil || !bytes.Equal(parsed.Marshal(), signature) {
		return nil, errors.New("it is no signature of SSH")
	}
	if err := checkAlgorithm(parsed.PublicKey); err != nil {
		return nil, err
	}
	if err := sshsig.Verify(message, parsed, parsed.PublicKey, parsed.HashAlgorithm, Namespace); err != nil {
		return nil, errors.New("it does not fit the content")
	}
	return parsed.PublicKey, nil
}

// Package keys keeps the keys that sign proofs, and says whose signature counts. A key is
// an OpenSSH key, so that ssh-keygen and an agent can sign and check in its place.
package keys

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/pattern"
	"savant/internal/regular"
)

// Ring is the folder of a person's keys, outside of every project: NAME is a private key,
// NAME.pub the public one, and revoked_keys lists the keys that count no more.
type Ring struct{ folder string }

// Open returns the ring of a folder, which New makes.
func Open(folder string) Ring { return Ring{folder} }

// Key is one key of a ring.
type Key struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	// Public is the line of the public key, for allowed_signers.
	Public  string `json:"public"`
	Revoked bool   `json:"revoked,omitempty"`
}

const (
	publicEnding = ".pub"
	revokedFile  = "revoked_keys"
	maxKeyFile   = 64 << 10
)

var namePattern = pattern.Lazy(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func checkName(name string) error {
	if !namePattern().MatchString(name) || name == revokedFile {
		return fault.New(fault.InvalidParams, "%q is no name of a key: use 1 to 64 of a-z 0-9 _ -, a letter or digit first", fault.Cut(name, 80))
	}
	return nil
}

// New makes an Ed25519 key: STATE_CONFLICT if there is one of its name.
func (r Ring) New(name string) (Key, error) {
	if err := checkName(name); err != nil {
		return Key{}, err
	}
	_, private, _ := ed25519.GenerateKey(rand.Reader) // which never fails
	block, err := ssh.MarshalPrivateKey(private, name)
	signer, wrong := ssh.NewSignerFromSigner(private)
	if err = errors.Join(err, wrong); err != nil {
		return Key{}, fault.New(fault.Internal, "making a key: %w", err)
	}
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return Key{}, fault.New(fault.StateNotSaved, "the folder of keys was not made: %w", errors.Unwrap(err))
	}
	key := describe(name, signer.PublicKey())
	if err := create(filepath.Join(r.folder, name), pem.EncodeToMemory(block)); err != nil {
		return Key{}, err
	}
	return key, create(filepath.Join(r.folder, name+publicEnding), []byte(key.Public+"\n"))
}

// create writes a file that must not exist, for its owner only.
func create(file string, content []byte) error {
	opened, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.StateConflict, "a key %s already exists: choose another name", filepath.Base(file))
	}
	if err == nil {
		_, err = opened.Write(content)
		err = errors.Join(err, opened.Sync(), opened.Close())
	}
	if err != nil {
		return fault.New(fault.StateNotSaved, "the key %s was not written: %w", filepath.Base(file), err)
	}
	return nil
}

func describe(name string, public ssh.PublicKey) Key {
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	return Key{Name: name, Fingerprint: ssh.FingerprintSHA256(public), Public: line + " " + name}
}

// List returns the keys of the ring by name, revoked ones too.
func (r Ring) List() ([]Key, error) {
	entries, err := os.ReadDir(r.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Internal, "the folder of keys cannot be read")
	}
	found := []Key{}
	for _, entry := range entries {
		name, public := strings.CutSuffix(entry.Name(), publicEnding)
		if !public {
			continue
		}
		key, err := r.Show(name)
		if err != nil {
			return nil, err
		}
		found = append(found, key)
	}
	return found, nil
}

// Show returns a key by its name: INVALID_PARAMS if there is none.
func (r Ring) Show(name string) (Key, error) {
	if err := checkName(name); err != nil {
		return Key{}, err
	}
	text, err := r.read(name + publicEnding)
	if errors.Is(err, fs.ErrNotExist) {
		return Key{}, fault.New(fault.InvalidParams, "there is no key %s: savant key list lists the keys, savant key new makes one", name)
	}
	if err != nil {
		return Key{}, err
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return Key{}, fault.New(fault.InvalidParams, "the key %s is no public key of OpenSSH", name)
	}
	revoked, err := r.Revoked()
	if err != nil {
		return Key{}, err
	}
	key := describe(name, public)
	key.Revoked = slices.Contains(revoked, key.Fingerprint)
	return key, nil
}

// Revoke takes a key out of use: its signatures count no more where this ring is, and its
// private part is removed.
func (r Ring) Revoke(name string) (Key, error) {
	key, err := r.Show(name)
	if err != nil || key.Revoked {
		return key, err
	}
	text, err := r.read(revokedFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	folder, err := regular.OpenFolder(r.folder)
	if err == nil {
		err = errors.Join(atomicfile.Write(folder, revokedFile, append(text, key.Public+"\n"...), 0o600), folder.Close())
	}
	if err != nil {
		return key, fault.New(fault.StateNotSaved, "the list of revoked keys was not written: %w", err)
	}
	key.Revoked = true
	if err := os.Remove(filepath.Join(r.folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return key, fault.New(fault.StateNotSaved, "%s is revoked, and its private part was not removed: %w", name, err)
	}
	return key, nil
}

// Revoked returns the fingerprints of the revoked keys. ssh-keygen reads the same file.
func (r Ring) Revoked() ([]string, error) {
	text, err := r.read(revokedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := PublicKeys(text)
	if err != nil {
		return nil, fault.New(fault.InvalidParams, "the list of revoked keys is damaged: each line is a public key")
	}
	var found []string
	for _, each := range keys {
		found = append(found, each.Fingerprint)
	}
	return found, nil
}

// read returns a file of the ring; its error satisfies fs.ErrNotExist where there is none.
func (r Ring) read(name string) ([]byte, error) {
	root, err := regular.OpenFolder(r.folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	return regular.ReadFile(root, name, maxKeyFile)
}

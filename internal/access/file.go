package access

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"savant/fault"
	"savant/internal/atomicfile"
	"savant/internal/filelock"
	"savant/internal/regular"
	"savant/internal/webguard"
)

// document is a file of tokens. Unknown members are preserved.
type document struct {
	members map[string]json.RawMessage
	tokens  []json.RawMessage
}

// Add creates a token, stores its digest in a file and returns the token, which is
// stored nowhere. A used name is ID_COLLISION.
func Add(ctx context.Context, path string, token webguard.Token) (string, error) {
	secret := webguard.NewToken()
	token.Digest = webguard.Digest(secret)
	err := edit(ctx, path, func(held *document) error {
		if slices.ContainsFunc(held.tokens, named(func(other string) bool { return alike(other, token.Name) })) {
			return fault.New(fault.IDCollision, "there is a token named %q already, or one that is spelled alike: revoke it first, or choose another name", token.Name)
		}
		added, err := json.Marshal(token)
		held.tokens = append(held.tokens, added)
		return err
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// Revoke removes the token of a name; INVALID_PARAMS for an unknown name.
func Revoke(ctx context.Context, path, name string) error {
	return edit(ctx, path, func(held *document) error {
		before := len(held.tokens)
		held.tokens = slices.DeleteFunc(held.tokens, named(func(other string) bool { return other == name }))
		if len(held.tokens) == before {
			return fault.New(fault.InvalidParams, "there is no token named %q", fault.Cut(name, 100)).
				Hinted(fault.Hint{Call: "savant token list", Text: "lists the tokens"})
		}
		return nil
	})
}

// alike reports whether two names are one but for capitals and the way that Unicode writes
// their characters. With both, one person could agree twice.
func alike(one, other string) bool {
	return strings.EqualFold(norm.NFKC.String(one), norm.NFKC.String(other))
}

func named(fits func(string) bool) func(json.RawMessage) bool {
	return func(raw json.RawMessage) bool {
		var each webguard.Token
		return json.Unmarshal(raw, &each) == nil && fits(each.Name)
	}
}

// edit changes a file of tokens under a lock. Only the owner can read the file.
func edit(ctx context.Context, path string, change func(*document) error) error {
	folder, name := filepath.Split(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return unsaved(path, err)
	}
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return unsaved(path, err)
	}
	defer root.Close()
	lock, err := root.OpenFile("."+name+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return unsaved(path, err)
	}
	defer lock.Close()
	if err := filelock.Acquire(ctx, name, func() (bool, error) { return filelock.TryLock(lock, true) }); err != nil {
		return err
	}
	held, err := read(path)
	if err != nil {
		return err
	}
	if err := change(held); err != nil {
		return err
	}
	if held.members["tokens"], err = json.Marshal(held.tokens); err != nil {
		return err
	}
	data, err := json.MarshalIndent(held.members, "", "  ")
	if err == nil {
		err = atomicfile.Write(root, name, append(data, '\n'), 0o600)
	}
	if err != nil {
		return unsaved(path, err)
	}
	return nil
}

// read reads and validates a file.
func read(path string) (*document, error) {
	held := &document{members: map[string]json.RawMessage{}, tokens: []json.RawMessage{}}
	if _, err := webguard.ReadTokens(path); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return held, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &held.members)
	}
	if raw, there := held.members["tokens"]; err == nil && there {
		err = json.Unmarshal(raw, &held.tokens)
	}
	if err != nil {
		return nil, unsaved(path, err)
	}
	return held, nil
}

func unsaved(path string, err error) error {
	return fault.New(fault.StateNotSaved, "the token file %s: %w", path, fault.WithoutPath(err))
}

package access

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"savant/fault"
	"savant/internal/webguard"
)

// ErrNoToken and ErrWrongToken are causes of TOOL_DENIED: a missing token, and one that
// is not accepted.
var (
	ErrNoToken    = errors.New("a bearer token is needed")
	ErrWrongToken = errors.New("the token is not accepted")
)

// DoorOptions configure a Door.
type DoorOptions struct {
	// File is the token file. It may be absent, and is reloaded when it changes.
	File string
	// Issuer is an authorization server whose tokens are also accepted; it may be nil.
	Issuer *Issuer
	// Open accepts requests without a token if neither a token nor an issuer exists when
	// the Door is created.
	Open bool
	// Logger gets errors of the file and the issuer; nil discards them.
	Logger *slog.Logger
}

// Door authenticates callers. It is safe for concurrent use.
type Door struct {
	options DoorOptions
	open    bool

	mu     sync.Mutex
	info   fs.FileInfo // of the file when it was read; nil if absent
	tokens webguard.Tokens
}

// NewDoor returns a Door. An existing but unreadable file is INVALID_PARAMS.
func NewDoor(options DoorOptions) (*Door, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Door{options: options}
	tokens, err := webguard.ReadTokens(options.File)
	if err != nil {
		return nil, err
	}
	d.open = options.Open && options.Issuer == nil && len(tokens) == 0
	return d, nil
}

// Open reports whether requests need no token.
func (d *Door) Open() bool { return d.open }

// HasTokens reports whether any token can be accepted.
func (d *Door) HasTokens() bool { return d.options.Issuer != nil || len(d.currentTokens()) > 0 }

// Holds reports whether a token of the file has a digest.
func (d *Door) Holds(digest string) bool {
	return slices.ContainsFunc(d.currentTokens(), func(each webguard.Token) bool { return webguard.Equal(each.Digest, digest) })
}

// Caller returns the bearer of a token. The error is TOOL_DENIED with ErrNoToken or
// ErrWrongToken, and never contains the token.
func (d *Door) Caller(ctx context.Context, token string) (Caller, error) {
	if token == "" {
		if d.open {
			return Local(), nil
		}
		return Caller{}, fault.New(fault.ToolDenied, "%w: send it in the header Authorization, after the word Bearer", ErrNoToken)
	}
	if found, is := d.currentTokens().Find(token); is {
		return Caller{Name: NameInRecords(found.Name), Scopes: knownScopes(found.Scopes), Folder: found.Path, PerMinute: found.PerMinute, PerDay: found.PerDay}, nil
	}
	if d.options.Issuer != nil && strings.Count(token, ".") == 2 {
		caller, err := d.options.Issuer.Caller(ctx, token)
		if err == nil {
			caller.Name = NameInRecords(caller.Name)
			return caller, nil
		}
		d.options.Logger.InfoContext(ctx, "a token of the authorisation server was refused", "cause", err.Error())
	}
	return Caller{}, fault.New(fault.ToolDenied, "%w", ErrWrongToken)
}

// NameInRecords returns the name by which records call the holder of a token. Records call
// people without a token local, terminal, hub or hook: a token of such a name gets a prefix.
func NameInRecords(name string) string {
	if slices.Contains([]string{Local().Name, "terminal", "hub", "hook"}, name) {
		return "token " + name
	}
	return name
}

// currentTokens returns the current tokens of the file; none if it is unreadable.
func (d *Door) currentTokens() webguard.Tokens {
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := os.Stat(d.options.File)
	if err == nil && d.info != nil && os.SameFile(info, d.info) && info.ModTime().Equal(d.info.ModTime()) && info.Size() == d.info.Size() {
		return d.tokens
	}
	d.info, d.tokens = nil, nil
	if err != nil {
		return nil
	}
	d.info = info
	if d.tokens, err = webguard.ReadTokens(d.options.File); err != nil {
		d.options.Logger.Error("the token file cannot be used, so its tokens are refused", "error", fault.From(err).Message())
	}
	return d.tokens
}

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

// ErrNoToken and ErrWrongToken are causes of TOOL_DENIED: a request without a token
// where one is needed, and one whose token is not accepted.
var (
	ErrNoToken    = errors.New("a bearer token is needed")
	ErrWrongToken = errors.New("the token is not accepted")
)

// DoorOptions say who is let in.
type DoorOptions struct {
	// File holds tokens; it need not be there, and is read again when it changes.
	File string
	// Issuer is an authorisation server whose tokens count too; nil: none.
	Issuer *Issuer
	// Open lets requests without a token in, as long as nothing says who has one when
	// the door is made.
	Open bool
	// Logger gets why a file or an issuer cannot be used; nil discards it.
	Logger *slog.Logger
}

// Door lets callers in. It may be used by several goroutines at once.
type Door struct {
	options DoorOptions
	open    bool

	mu     sync.Mutex
	info   fs.FileInfo // of the file when it was read; nil for none
	tokens webguard.Tokens
}

// NewDoor returns a door. A file that is there and cannot be read is INVALID_PARAMS.
func NewDoor(options DoorOptions) (*Door, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Door{options: options}
	tokens, err := Tokens(options.File)
	if err != nil {
		return nil, err
	}
	d.open = options.Open && options.Issuer == nil && len(tokens) == 0
	return d, nil
}

// Open says whether requests need no token.
func (d *Door) Open() bool { return d.open }

// HasTokens says whether somebody can come in with a token.
func (d *Door) HasTokens() bool { return d.options.Issuer != nil || len(d.held()) > 0 }

// Holds says whether a token of the file has a digest.
func (d *Door) Holds(digest string) bool {
	return slices.ContainsFunc(d.held(), func(each webguard.Token) bool { return webguard.Equal(each.Digest, digest) })
}

// Caller returns who bears a token; the error is TOOL_DENIED with ErrNoToken or
// ErrWrongToken. It never repeats the token.
func (d *Door) Caller(ctx context.Context, token string) (Caller, error) {
	if token == "" {
		if d.open {
			return Local(), nil
		}
		return Caller{}, fault.New(fault.ToolDenied, "%w: send it as Authorization: Bearer TOKEN", ErrNoToken)
	}
	if found, is := d.held().Find(token); is {
		return Caller{Name: found.Name, Scopes: known(found.Scopes), Folder: found.Path, PerMinute: found.PerMinute, PerDay: found.PerDay}, nil
	}
	if d.options.Issuer != nil && strings.Count(token, ".") == 2 {
		caller, err := d.options.Issuer.Caller(ctx, token)
		if err == nil {
			return caller, nil
		}
		d.options.Logger.InfoContext(ctx, "a token of the authorisation server is refused", "cause", err.Error())
	}
	return Caller{}, fault.New(fault.ToolDenied, "%w", ErrWrongToken)
}

// held returns the tokens of the file as it is now. What cannot be read lets nobody in.
func (d *Door) held() webguard.Tokens {
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
	if d.tokens, err = Tokens(d.options.File); err != nil {
		d.options.Logger.Error("no token of the file is accepted", "error", fault.From(err).Message())
	}
	return d.tokens
}

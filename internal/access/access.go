// Package access authenticates and authorizes HTTP requests, by the tokens of a file or
// of an external authorization server.
package access

import (
	"slices"
	"strings"

	"savant/fault"
)

// Scope is a permission of a token.
type Scope string

// The scopes. Run includes guide, and guide includes read.
const (
	// Read permits lists, resources and read-only tools.
	Read Scope = "read"
	// Guide permits workflows: think.plan, think.next and related tools.
	Guide Scope = "guide"
	// Run permits every tool.
	Run Scope = "run"
	// Approve permits answering questions to a person.
	Approve Scope = "approve"
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{Read, Guide, Run, Approve} }

// includes returns the other scopes implied by a scope.
func (s Scope) includes() []Scope {
	switch s {
	case Run:
		return []Scope{Guide, Read}
	case Guide:
		return []Scope{Read}
	}
	return nil
}

// Caller is the authenticated sender of a request.
type Caller struct {
	// Name is for logs.
	Name   string
	Scopes []Scope
	// Folder is the caller's working folder; "" is the server's.
	Folder string
	// PerMinute limits requests in a minute, PerDay tool calls in a day; 0 is the server's
	// limit.
	PerMinute, PerDay int
	// Local: it is a program on the same machine that needs no token, and so has no limit.
	Local bool
}

// May reports whether the caller has a scope, directly or by implication.
func (c Caller) May(scope Scope) bool {
	return slices.ContainsFunc(c.Scopes, func(has Scope) bool { return has == scope || slices.Contains(has.includes(), scope) })
}

// Local is the caller for a program on the same machine, which needs no token.
func Local() Caller { return Caller{Name: "local", Scopes: Scopes(), Local: true} }

// ParseScopes parses names of scopes. An unknown name is INVALID_PARAMS.
func ParseScopes(names []string) ([]Scope, error) {
	var scopes []Scope
	for _, name := range names {
		if !slices.Contains(Scopes(), Scope(name)) {
			return nil, fault.New(fault.InvalidParams, "there is no scope %q: expected some of %s", fault.Cut(name, 40), List())
		}
		scopes = append(scopes, Scope(name))
	}
	return scopes, nil
}

// List names all scopes, for a person.
func List() string {
	var names []string
	for _, each := range Scopes() {
		names = append(names, string(each))
	}
	return strings.Join(names, ", ")
}

// knownScopes returns the known scopes among names; the others are for other servers.
func knownScopes(names []string) (scopes []Scope) {
	for _, name := range names {
		if slices.Contains(Scopes(), Scope(name)) {
			scopes = append(scopes, Scope(name))
		}
	}
	return scopes
}

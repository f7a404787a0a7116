// Package access says who may use a server over HTTP, and what they may do: by the
// tokens of a file, or by those of an authorisation server outside.
package access

import (
	"slices"
	"strings"

	"savant/fault"
)

// Scope is what a token lets its bearer do.
type Scope string

// The scopes. Run includes guide, and guide includes read.
const (
	// Read looks: lists, resources, and tools that only read.
	Read Scope = "read"
	// Guide is led through workflows: think.plan, think.next and what belongs to them.
	Guide Scope = "guide"
	// Run calls every tool.
	Run Scope = "run"
	// Approve may answer what a person is asked.
	Approve Scope = "approve"
)

// Scopes returns all there are.
func Scopes() []Scope { return []Scope{Read, Guide, Run, Approve} }

// includes are the scopes that a scope has beside itself.
func (s Scope) includes() []Scope {
	switch s {
	case Run:
		return []Scope{Guide, Read}
	case Guide:
		return []Scope{Read}
	}
	return nil
}

// Caller is who sends a request.
type Caller struct {
	// Name is for logs.
	Name   string
	Scopes []Scope
	// Folder is the folder they work in; empty: that of the server.
	Folder string
	// PerMinute is how many requests they may send in a minute, PerDay how many tools
	// they may call in a day; 0: what the server says.
	PerMinute, PerDay int
}

// May says whether the caller has a scope, by itself or within another.
func (c Caller) May(asked Scope) bool {
	return slices.ContainsFunc(c.Scopes, func(has Scope) bool { return has == asked || slices.Contains(has.includes(), asked) })
}

// Local is a program of the same machine that needs no token.
func Local() Caller { return Caller{Name: "local", Scopes: Scopes()} }

// ParseScopes reads names of scopes. A name that there is not is INVALID_PARAMS.
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

// known returns the scopes among names; others are for other servers.
func known(names []string) (scopes []Scope) {
	for _, name := range names {
		if slices.Contains(Scopes(), Scope(name)) {
			scopes = append(scopes, Scope(name))
		}
	}
	return scopes
}

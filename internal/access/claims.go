package access

import (
	"encoding/json"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"savant/internal/jsonvalue"
)

// claims are the claims read from a token. Their names are exact: SCOPE is another claim
// than scope (RFC 7519), and a name occurs once.
type claims struct {
	jwt.RegisteredClaims
	Scope    string          `json:"scope"`
	Scp      json.RawMessage `json:"scp"` // a text, or a list of texts
	ClientID string          `json:"client_id"`
}

var claimNames = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "scope", "scp", "client_id"}

// UnmarshalJSON decodes the claims by their exact names.
func (c *claims) UnmarshalJSON(data []byte) error {
	exact, err := exactMembers(data, claimNames)
	if err != nil {
		return err
	}
	type plain claims
	return json.Unmarshal(exact, (*plain)(c))
}

// exactMembers returns an object with only the members of the given names. Package json
// takes a name in another case for the same.
func exactMembers(data []byte, names []string) ([]byte, error) {
	if _, err := jsonvalue.Decode(data); err != nil { // also refuses a member that is there twice
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	kept := map[string]json.RawMessage{}
	for _, name := range names {
		if value, there := all[name]; there {
			kept[name] = value
		}
	}
	return json.Marshal(kept)
}

// scopes returns the known scopes of the claims.
func (c *claims) scopes() []Scope {
	names := strings.Fields(c.Scope)
	var list []string
	var text string
	switch {
	case json.Unmarshal(c.Scp, &list) == nil:
		names = append(names, list...)
	case json.Unmarshal(c.Scp, &text) == nil:
		names = append(names, strings.Fields(text)...)
	}
	return knownScopes(names)
}

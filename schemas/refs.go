package schemas

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"savant/fault"
	"savant/internal/jsonvalue"
)

// Addresses of schemas for the validator. They are names only and never loaded.
const (
	namedAddress  = "mem:///named/"
	inlineAddress = "mem:///inline"
)

// metaWeight is the cost of checking one value against the metaschema of a draft,
// which consists of eight schemas.
const metaWeight = 10

// drafts are the supported values of "$schema". A trailing "#" is allowed; draft 7 was
// published with http.
var drafts = []string{
	"https://json-schema.org/draft/2020-12/schema",
	"https://json-schema.org/draft/2019-09/schema",
	"http://json-schema.org/draft-07/schema",
}

// pointed is where in a document the walk is.
type pointed struct {
	address string // of the document
	pointer string // RFC 6901
}

func (p pointed) child(tokens ...string) pointed {
	for _, token := range tokens {
		p.pointer += jsonvalue.Token(token)
	}
	return p
}

func isDraft(address string) bool {
	bare := strings.TrimSuffix(address, "#")
	return slices.Contains(drafts, bare) || bare == strings.Replace(drafts[2], "http:", "https:", 1)
}

func addressOf(name string) string {
	if name == "" {
		return inlineAddress
	}
	return namedAddress + url.PathEscape(name)
}

// nameOf is the name of the schema at an address, empty for an inline one.
func nameOf(address string) string {
	name, named := strings.CutPrefix(address, namedAddress)
	if !named {
		return ""
	}
	return pointerOf(name)
}

// refer follows a "$ref" and rewrites it to the address that the validator uses
// for the target.
func (g *graph) refer(made *node, at pointed, schema map[string]any, reference string) {
	base, fragment, _ := strings.Cut(reference, "#")
	if isDraft(base) && fragment == "" {
		made.same = append(made.same, &node{weight: metaWeight})
		return
	}
	address, found := at.address, true
	if base != "" {
		if address, found = g.document(at, base); !found {
			return
		}
	}
	target, value, found := g.locate(pointed{address: address}, fragment)
	if !found {
		g.wrong(at.child("$ref"), "$ref points to nothing: "+reference)
		return
	}
	schema["$ref"] = address + "#" + escapePointer(target.pointer)
	made.same = append(made.same, g.walk(target, value))
}

// document adds the schema that a reference names to the graph.
func (g *graph) document(at pointed, name string) (address string, found bool) {
	held, known := g.set.lookup(pointerOf(name))
	if !known {
		g.diagnostics = append(g.diagnostics, g.unknown(at.child("$ref"), name))
		return "", false
	}
	if broken := g.set.sources[held].broken; broken != nil {
		g.wrong(at.child("$ref"), broken.Details)
		return "", false
	}
	address = addressOf(held)
	if _, loaded := g.documents[address]; loaded {
		return address, true
	}
	value, err := jsonvalue.DecodeStored(g.set.sources[held].raw) // a copy to rewrite
	if err != nil {
		return "", false // unreachable: encoded by this package
	}
	g.documents[address] = value
	g.walk(pointed{address: address}, value)
	return address, true
}

func (g *graph) unknown(at pointed, name string) fault.Diagnostic {
	message := "$ref names no schema of this set: " + name
	if strings.ContainsAny(name, "/:\\") {
		message = "$ref may only name a schema of this set, never a file or an address: " + name
	}
	found := g.diagnostic(at, message)
	found.Code = fault.SchemaNotFound
	found.Message += fault.NearestHint("; did you mean %s?", name, g.set.Names())
	return found
}

// locate finds the target of a fragment: a JSON pointer or an "$anchor".
func (g *graph) locate(root pointed, fragment string) (pointed, any, bool) {
	value := g.documents[root.address]
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return root, nil, false
	}
	if fragment == "/" { // a common spelling of the root
		fragment = ""
	}
	if fragment != "" && fragment[0] != '/' {
		return findAnchor(root, value, fragment)
	}
	for token := range jsonvalue.Tokens(fragment) {
		var found bool
		if value, found = step(value, token); !found {
			return root, nil, false
		}
		root = root.child(token)
	}
	return root, value, true
}

// findAnchor searches a schema for an "$anchor", in the order of its keys.
func findAnchor(at pointed, value any, anchor string) (pointed, any, bool) {
	switch v := value.(type) {
	case map[string]any:
		if v["$anchor"] == anchor {
			return at, v, true
		}
		for key, sub := range sorted(v) {
			if where, what, found := findAnchor(at.child(key), sub, anchor); found {
				return where, what, true
			}
		}
	case []any:
		for i, sub := range v {
			if where, what, found := findAnchor(at.child(strconv.Itoa(i)), sub, anchor); found {
				return where, what, true
			}
		}
	}
	return at, nil, false
}

// step goes one token of a JSON pointer into a value.
func step(value any, token string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		inside, has := v[token]
		return inside, has
	case []any:
		index, err := strconv.Atoi(token)
		if err != nil || index < 0 || index >= len(v) {
			return nil, false
		}
		return v[index], true
	default:
		return nil, false
	}
}

// escapePointer writes a pointer the way the validator spells its locations.
func escapePointer(pointer string) string {
	var out strings.Builder
	for token := range jsonvalue.Tokens(pointer) {
		out.WriteString("/" + url.PathEscape(jsonvalue.Token(token)[1:]))
	}
	return out.String()
}

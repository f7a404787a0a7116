package schemas

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"savant/internal/jsonvalue"
)

// Whole returns the text of a schema with the named schemas that it refers to among its
// $defs, in the order in which all are written.
func (s *Set) Whole(text []byte) []byte {
	root, err := jsonvalue.Read(text)
	if err != nil || len(root.Members) == 0 {
		return text
	}
	w := &whole{set: s, keys: map[string]string{}}
	for _, each := range root.Member(defsKeyword).Members {
		w.taken = append(w.taken, each.Name)
	}
	out, _ := w.copied(root, "").(jsonvalue.Object)
	if len(w.defs) == 0 {
		return text
	}
	if at := slices.IndexFunc(out, func(p jsonvalue.Pair) bool { return p.Name == defsKeyword }); at >= 0 {
		held, _ := out[at].Value.(jsonvalue.Object)
		out[at].Value = append(held, w.defs...)
	} else {
		out.Add(defsKeyword, w.defs)
	}
	raw, err := jsonvalue.Encode(out)
	if err != nil {
		return text
	}
	return raw
}

const defsKeyword = "$defs"

// whole gathers the named schemas of one text.
type whole struct {
	set   *Set
	keys  map[string]string // in $defs, by name
	taken []string
	defs  jsonvalue.Object
}

// copied returns a node of a document that stands at base within the text, with its
// references led to $defs.
func (w *whole) copied(node jsonvalue.Node, base string) any {
	if node.Items != nil {
		list := make([]any, len(node.Items))
		for i, item := range node.Items {
			list[i] = w.copied(item, base)
		}
		return list
	}
	if node.Members == nil {
		return json.RawMessage(node.Raw)
	}
	object := make(jsonvalue.Object, 0, len(node.Members))
	for _, each := range node.Members {
		reference := jsonvalue.Text(each.Value.Raw)
		switch {
		case slices.Contains([]string{"enum", "const", "default", "examples"}, each.Name): // values, no schemas
			object.Add(each.Name, json.RawMessage(each.Value.Raw))
		case each.Name == "$ref" && reference != "":
			object.Add(each.Name, w.led(reference, base))
		default:
			object.Add(each.Name, w.copied(each.Value, base))
		}
	}
	return object
}

// led returns where a reference leads within the text; as it is if it leads nowhere.
func (w *whole) led(reference, base string) string {
	name, fragment, _ := strings.Cut(reference, "#")
	if name == "" {
		return "#" + base + fragment
	}
	held, known := w.set.lookup(pointerOf(name))
	if !known || w.set.sources[held].broken != nil {
		return reference
	}
	key, done := w.keys[held]
	if !done {
		key = held
		for n := 2; slices.Contains(w.taken, key); n++ {
			key = held + "_" + strconv.Itoa(n)
		}
		w.keys[held], w.taken = key, append(w.taken, key)
		at := len(w.defs)
		w.defs.Add(key, nil)
		document, err := jsonvalue.Read(w.set.sources[held].raw)
		if err != nil {
			return reference // never: it was read
		}
		w.defs[at].Value = w.copied(document, "/"+defsKeyword+jsonvalue.Token(key))
	}
	return "#/" + defsKeyword + jsonvalue.Token(key) + fragment
}

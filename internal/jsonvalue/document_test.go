package jsonvalue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

func TestReadKnowsPlaces(t *testing.T) {
	data := []byte("{\n  \"é\": [1, {\"a/b\": \"x\"}],\n  \"é\": null\n}")
	root, err := jsonvalue.Read(data)
	require.NoError(t, err)
	require.Len(t, root.Members, 2, "a name may be there twice")
	require.Equal(t, string(data), string(root.Raw))
	for pointer, want := range map[string]string{"": string(data), "/é": `[1, {"a/b": "x"}]`, "/é/0": "1", "/é/1/a~1b": `"x"`, "/é/7": `[1, {"a/b": "x"}]`, "/é/1/x/y": `{"a/b": "x"}`, "/no": string(data)} {
		found := root.Lookup(pointer)
		require.Equal(t, want, string(found.Raw), pointer)
		require.Equal(t, want, string(data[found.Offset:found.Offset+len(found.Raw)]), pointer)
	}
	line, column := jsonvalue.Place(data, root.Members[1].Offset)
	require.Equal(t, []int{3, 3}, []int{line, column})
}

// FuzzRead holds the parts of a document to the decoder.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":null}]}`, ` [ "x" , -1e5 ] `, `{}`, `[`, `{"a":1,"a":2}`, "1 2"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := jsonvalue.Read(data)
		want, failed := jsonvalue.Decode(data)
		if err != nil {
			require.Error(t, failed)
			return
		}
		if failed == nil {
			require.Equal(t, want, valueOf(t, root))
		}
	})
}

func valueOf(t *testing.T, node jsonvalue.Node) any {
	switch node.Raw[0] {
	case '{':
		object := map[string]any{}
		for _, member := range node.Members {
			object[member.Name] = valueOf(t, member.Value)
		}
		return object
	case '[':
		list := []any{}
		for _, item := range node.Items {
			list = append(list, valueOf(t, item))
		}
		return list
	}
	value, err := jsonvalue.Decode(node.Raw)
	require.NoError(t, err)
	return value
}

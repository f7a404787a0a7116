package jsonvalue_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// What is found of an object without decoding it is what a decoder finds.
func FuzzMember(f *testing.F) {
	for _, object := range []string{`{}`, ` {"a" : 1 , "b":[{"a":2}]}`, `{"a":"x\"y\\","b":"a"}`, `{"\u0061":"\ud800","a":null}`, `{"a":{"a":1},"a":-1e5 }`,
		`[{"a":1}]`, `"a"`, `{"a":"\\\\"}`, "{\"a\":\"\xff\"}", `{"b":"\"a\":1","a":[",","]"]}`} {
		f.Add([]byte(object), "a")
	}
	f.Fuzz(func(t *testing.T, object []byte, name string) {
		found, text := jsonvalue.Member(object, name), jsonvalue.TextMember(object, name)
		if !json.Valid(object) {
			return // whatever it said, it came back
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(object, &members) != nil {
			require.Nil(t, found)
			return
		}
		require.Equal(t, string(members[name]), string(found))
		var value any
		_ = json.Unmarshal(members[name], &value)
		decoded, _ := value.(string)
		require.Equal(t, decoded, text)
	})
}

// The value of a member that the caller does not want need not be there.
func TestMembersBefore(t *testing.T) {
	var names []string
	for name := range jsonvalue.Members([]byte(`{"a":1,"b":"x","data":{"cut":"of`), "data") {
		names = append(names, name)
	}
	require.Equal(t, []string{"a", "b"}, names)
}

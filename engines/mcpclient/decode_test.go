package mcpclient

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server's names are taken letter by letter, at every depth.
func TestNamesInOtherLettersAreNotTaken(t *testing.T) {
	for said, want := range map[string]CallResult{
		`{"content":[],"isError":true,"ISERROR":false}`:                  {Content: []json.RawMessage{}, IsError: true},
		`{"content":[],"IsError":true}`:                                  {Content: []json.RawMessage{}},
		`{"iſError":true, "structuredcontent" : {"a":1},"ResultType":1}`: {},
		`{"structuredContent":{"isERROR":1},"CONTENT":[1]}`:              {Structured: json.RawMessage(`{"isERROR":1}`)},
	} {
		var got CallResult
		require.NoError(t, decode([]byte(said), &got), said)
		require.Equal(t, want, got, said)
	}
	definition := Definition{Name: "t", Raw: json.RawMessage(`{"name":"t","TITLE":"x","annotations":{"READONLYHINT":true,"title":"T"}}`)}
	tool, err := definition.Tool()
	require.NoError(t, err)
	require.Equal(t, "T", tool.Title)
	require.False(t, tool.ReadOnly)
	require.True(t, tool.Destructive)

	text := CallResult{Content: []json.RawMessage{[]byte(`{"type":"text","TEXT":"no"}`), []byte(`{"type":"text","text":"yes"}`)}}.Text()
	require.Equal(t, "yes", text)

	c := newClient(t.Context(), Options{})
	var heard []string
	c.reports.Store("savant-1", func(_, _ float64, message string) { heard = append(heard, message) })
	c.notified("notifications/progress", json.RawMessage(`{"PROGRESSTOKEN":"savant-1","progress":1,"message":"no"}`))
	c.notified("notifications/progress", json.RawMessage(`{"progressToken":"savant-1","progress":1,"message":"yes","Message":"no"}`))
	require.Equal(t, []string{"yes"}, heard)
}

// FuzzDecode holds decode against a decoder of the members alone that have a
// field's very name.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text"}],"Content":1,"isError":true,"structuredContent":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil || members == nil {
			return
		}
		exactly := map[string]json.RawMessage{}
		for _, name := range []string{"content", "structuredContent", "isError", "resultType"} {
			if value, there := members[name]; there {
				exactly[name] = value
			}
		}
		clean, err := json.Marshal(exactly)
		require.NoError(t, err)
		var want, got CallResult
		if json.Unmarshal(clean, &want) != nil || decode(data, &got) != nil {
			return // of a name that is there twice, each may be of a type that does not fit
		}
		require.Equal(t, want.IsError, got.IsError, string(data))
		require.Equal(t, want.Type, got.Type, string(data))
		require.Len(t, got.Content, len(want.Content), string(data))
		require.Equal(t, want.Structured == nil, got.Structured == nil, string(data))
	})
}

package mcpclient

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

// A server's names are taken letter by letter, at every depth.
func TestNamesInOtherLettersAreNotTaken(t *testing.T) {
	for said, want := range map[string]CallResult{
		`{"content":[],"isError":true,"ISERROR":false}`:                {Content: []json.RawMessage{}, IsError: true},
		`{"content":[],"IsError":true}`:                                {Content: []json.RawMessage{}},
		`{"iſError":true, "structuredcontent" : {"a":1},"content":[]}`: {Content: []json.RawMessage{}},
		`{"structuredContent":{"isERROR":1},"CONTENT":[1]}`:            {Structured: json.RawMessage(`{"isERROR":1}`)},
	} {
		require.Equal(t, want, newCallResult([]byte(said)), said)
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
	c.reports.Store("1", func(_, _ float64, message string) { heard = append(heard, message) })
	c.notified("notifications/progress", json.RawMessage(`{"PROGRESSTOKEN":1,"progress":1,"message":"no"}`))
	c.notified("notifications/progress", json.RawMessage(`{"progressToken":1,"progress":1,"message":"yes","Message":"no"}`))
	require.Equal(t, []string{"yes"}, heard)
}

// FuzzResult shows that whatever a server gives becomes blocks with a type, and structured
// content that is an object.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{`{"content":[{"type":"text"}],"Content":1,"isError":true,"structuredContent":null}`, `[1,"a",null,{"text":7}]`, `{"toolResult":{"toolResult":1}}`, `{"a":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		result := newCallResult(bytes.TrimSpace(data))
		for _, each := range result.Content {
			require.NotEmpty(t, jsonvalue.TextMember(each, "type"), string(data))
		}
		require.True(t, result.Structured == nil || bytes.HasPrefix(result.Structured, []byte("{")), string(data))
	})
}

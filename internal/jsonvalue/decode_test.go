package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
	"savant/test/golden"
)

var update = flag.Bool("update", false, "write the golden files anew")

// standard decodes with encoding/json, as every release before did.
func standard(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return normal(value, 0)
}

// normal gives decoded numbers the forms of package jsonvalue.
func normal(value any, depth int) (result any, err error) {
	if depth > 200 {
		return nil, errors.New("too deep")
	}
	switch v := value.(type) {
	case json.Number:
		return jsonvalue.Decode([]byte(v))
	case []any:
		for i := range v {
			if v[i], err = normal(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = normal(v[key], depth+1); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// FuzzDecode holds DecodeStored to encoding/json, and Decode to DecodeStored
// where it does not refuse.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`"plain"`, `""`, ` "spaced" `, `"é𝄞"`, `"\u00e9\n"`, `"a"b"`, `"a" "b"`, `"`, `"a`, "\"a\tb\"", "\"\xff\"", "\"\x7f\"", `"a\"`, "\"a\"\n",
		`{"a":1,"a":2}`, `[1,-0,0.0,1e5,1E400,123456789012345678901234567890]`, `{"\ud800":"\udc00x"}`, `[[[]]]`, `{"a":{"b":[null,true]}} x`, `-`, `01`, "\xef\xbb\xbf1"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wrong := standard(data)
		got, err := jsonvalue.DecodeStored(data)
		if wrong != nil {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		strict, err := jsonvalue.Decode(data)
		if err == nil {
			require.Equal(t, want, strict)
			return
		}
		var located *jsonvalue.Error
		require.ErrorAs(t, err, &located)
		require.GreaterOrEqual(t, located.Offset, 0)
		require.LessOrEqual(t, located.Offset, len(data))
	})
}

func TestDecodeSaysWhere(t *testing.T) {
	for text, offset := range map[string]int{`{"a": 1, "a": 2}`: 12, "[\n 1,\n x]": 7, `[1`: 2, ``: 0, "\"\xff\"": 1, `[1] 2`: 4, `[1,]`: 2, `{"a":1,}`: 6, `{"a":1e999}`: 5, `"a`: 2} {
		_, err := jsonvalue.Decode([]byte(text))
		var located *jsonvalue.Error
		require.ErrorAs(t, err, &located, text)
		require.Equal(t, offset, located.Offset, "%s: %s", text, err)
	}
	line, column := jsonvalue.Place([]byte("[\n é,\n x]"), 8)
	require.Equal(t, []int{3, 2}, []int{line, column})
}

func TestDecodeBoundsDepth(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	_, err := jsonvalue.Decode(deep(200))
	require.NoError(t, err)
	for _, n := range []int{201, 20_000} {
		_, err = jsonvalue.Decode(deep(n))
		require.Error(t, err)
		_, err = jsonvalue.Read(deep(n))
		require.Error(t, err)
	}
}

// What JavaScript writes of half a character is read; a raw byte is not.
func TestHalfOfASurrogatePair(t *testing.T) {
	value, err := jsonvalue.Decode([]byte(`"\ud83d"`))
	require.NoError(t, err)
	require.Equal(t, "\ufffd", value)
}

func TestUnmarshal(t *testing.T) {
	type target struct {
		Name string `json:"name"`
		Any  any    `json:"any"`
		Deep struct {
			Count int `json:"count"`
		} `json:"deep"`
	}
	var got target
	require.NoError(t, jsonvalue.Unmarshal([]byte(`{"name":"a","NAME":"b","any":[9007199254740993],"deep":{"count":1},"other":1}`), &got))
	require.Equal(t, "a", got.Name, "names are matched letter by letter")
	require.Equal(t, []any{9007199254740993}, got.Any)
	messages := map[string]string{}
	for text, offset := range map[string]int{
		`{"name":"a","name":"b"}`: 12,
		`{"any":{"a":1,"a":2}}`:   14,
		`{"deep":{"count":"x"}}`:  17,
		`{"name":"a"} {}`:         13,
		`{"name":`:                8,
		"{\"name\":\"\xff\"}":     9,
		`{"deep":{"count":1e30}}`: 17,
		`{"any":1e400}`:           7,
	} {
		var into target
		err := jsonvalue.Unmarshal([]byte(text), &into)
		var located *jsonvalue.Error
		require.ErrorAs(t, err, &located, text)
		require.Equal(t, offset, located.Offset, text)
		messages[text] = err.Error()
	}
	golden.Messages(t, *update, "testdata/unmarshal.golden", messages)
}

func TestTextOrValue(t *testing.T) {
	for text, want := range map[string]any{`{"a":1,"a":2}`: map[string]any{"a": 2}, "42": 42, " true": true, "plain": "plain", "": "", `"quoted"`: "quoted", "1 2": "1 2"} {
		require.Equal(t, want, jsonvalue.TextOrValue(text))
	}
}

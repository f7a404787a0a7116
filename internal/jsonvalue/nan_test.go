package jsonvalue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"savant/internal/jsonvalue"
)

func TestNumbersThatJSONDoesNotHave(t *testing.T) {
	require.Equal(t, `{"a":null,"b":[null,null],"c":"NaN \" -Infinity"}`, string(jsonvalue.WithoutNaN([]byte(`{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN \" -Infinity"}`))))
	require.Equal(t, `{"a":"NaN"}`, string(jsonvalue.WithoutNaN([]byte(`{"a":"NaN"}`))))
	require.Equal(t, `[null,"NaN \" NaN`, string(jsonvalue.WithoutNaN([]byte(`[NaN,"NaN \" NaN`))), "a string without its end")
}

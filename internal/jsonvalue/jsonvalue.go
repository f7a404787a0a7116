// Package jsonvalue reads and writes all JSON whose exact form matters. It is a
// thin layer over go-json-experiment/json.
//
// A JSON value is nil, bool, int, float64, string, []any, map[string]any, or
// json.Number for a number that neither int nor float64 holds exactly enough.
// Integers stay integers, and one value has one encoding.
package jsonvalue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxDepth bounds nesting, maxExponent the exponent of a number: 1e100000000
// panics in JSON Schema validators (measured on jsonschema v5.3.1).
const (
	maxDepth    = 200
	maxExponent = 308
)

// number returns the value of a JSON number.
func number(text string) (any, error) {
	if i, err := strconv.Atoi(text); err == nil && text != "-0" {
		return i, nil
	}
	if mark := strings.IndexAny(text, "eE"); mark >= 0 {
		exponent, err := strconv.Atoi(text[mark+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, fmt.Errorf("number %.20s is out of bounds", text)
		}
	} else if !strings.Contains(text, ".") && text != "-0" {
		if len(text) > maxExponent {
			return nil, fmt.Errorf("number %.20s… is out of bounds", text)
		}
		return json.Number(text), nil // an integer beyond 64 bits: exact, but not for arithmetic
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("number %.20s is out of bounds", text)
	}
	return f, nil
}

// Digest returns the hex SHA-256 of the encoding of a value.
func Digest(value any) (string, error) {
	data, err := Encode(value)
	if err != nil {
		return "", err
	}
	return HexSum(data), nil
}

// HexSum returns the hex SHA-256 of bytes.
func HexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Kind names a value's JSON type: null, boolean, integer, number, string,
// array or object.
func Kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int:
		return "integer"
	case float64, json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return fmt.Sprintf("%T", value)
	}
}

// SHA256 writes a digest as replies show it: with the name of its kind.
func SHA256(digest string) string { return "sha256:" + digest }

// Texts returns the texts of a value that is one or a list of them.
func Texts(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, each := range value {
			if text, is := each.(string); is {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

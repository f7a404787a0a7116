package expression

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
)

// canonical returns a finite float as it would be after encoding and decoding: an
// integral one is an int, or a json.Number beyond 64 bits.
func canonical(f float64) any {
	const (
		beyondInt   = 1 << 63 // the first float that no int64 holds
		beyondPlain = 1e21    // from here encoding/json writes an exponent
	)
	switch {
	case f != math.Trunc(f) || math.Abs(f) >= beyondPlain:
		return f
	case -beyondInt <= f && f < beyondInt:
		return int(f)
	default:
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64))
	}
}

// operand returns a value, floats made canonical: 2.0 and 2 must act the same.
func operand(value any) any {
	if f, ok := value.(float64); ok {
		return canonical(f)
	}
	return value
}

// isNumber reports whether an operand is an int, a float64 or a json.Number.
func isNumber(value any) bool {
	switch value.(type) {
	case int, float64, json.Number:
		return true
	default:
		return false
	}
}

// compareNumbers orders two numeric operands exactly.
func compareNumbers(a, b any) int {
	x, xInt := a.(int)
	y, yInt := b.(int)
	if xInt && yInt {
		return cmp.Compare(x, y)
	}
	v, vFloat := a.(float64)
	w, wFloat := b.(float64)
	if vFloat && wFloat {
		return cmp.Compare(v, w)
	}
	return exact(a).Cmp(exact(b))
}

// exact returns a numeric operand without rounding. Package jsonvalue keeps a
// json.Number only for integers, of at most 308 digits.
func exact(value any) *big.Float {
	switch v := value.(type) {
	case int:
		return new(big.Float).SetInt64(int64(v))
	case float64:
		return new(big.Float).SetFloat64(v)
	}
	integer, _ := new(big.Int).SetString(string(value.(json.Number)), 10)
	if integer == nil {
		return new(big.Float)
	}
	return new(big.Float).SetInt(integer)
}

// asFloat returns an int or float64 operand as a float64.
func asFloat(value any) float64 {
	if i, ok := value.(int); ok {
		return float64(i)
	}
	f, _ := value.(float64)
	return f
}

package expression

import (
	"encoding/json"
	"math"
	"math/big"
)

// addition is +, for two numbers or two strings.
func addition(e *evaluation) any {
	if a, ok := e.args[0].(string); ok {
		if b, ok := e.args[1].(string); ok && e.produce(len(a)+len(b)) {
			return a + b
		}
	}
	a, b := operand(e.args[0]), operand(e.args[1])
	if !isNumber(a) || !isNumber(b) {
		fix := ""
		if kind(a) == "string" || kind(b) == "string" {
			fix = "; string(…) makes a string of any value"
		}
		e.fail("+ needs two numbers or two strings, found %s and %s%s", kind(a), kind(b), fix)
		return nil
	}
	return e.compute(add, a, b)
}

// arithmetic is an operation on integers and on floats. ints reports false if
// the exact result is not an int.
type arithmetic struct {
	ints   func(x, y int) (int, bool)
	floats func(x, y float64) float64
}

var (
	add      = arithmetic{exactly((*big.Int).Add), func(x, y float64) float64 { return x + y }}
	subtract = arithmetic{exactly((*big.Int).Sub), func(x, y float64) float64 { return x - y }}
	multiply = arithmetic{exactly((*big.Int).Mul), func(x, y float64) float64 { return x * y }}
	divide   = arithmetic{
		func(x, y int) (int, bool) { return x / y, x%y == 0 && (y != -1 || x != math.MinInt) },
		func(x, y float64) float64 { return x / y },
	}
)

// exactly returns an operation on integers that detects overflow.
func exactly(operate func(z, x, y *big.Int) *big.Int) func(x, y int) (int, bool) {
	return func(x, y int) (int, bool) {
		result := operate(new(big.Int), big.NewInt(int64(x)), big.NewInt(int64(y)))
		return int(result.Int64()), result.IsInt64()
	}
}

// numeric returns the operator for two numbers.
func numeric(operation arithmetic) function {
	return func(e *evaluation) any {
		a, b := e.numbers()
		return e.compute(operation, a, b)
	}
}

// division is exact where it can be: 6 / 3 is 2 and 7 / 2 is 3.5.
func division(e *evaluation) any {
	a, b := e.numbers()
	if b == 0 {
		e.fail("division by zero")
		return nil
	}
	return e.compute(divide, a, b)
}

func modulo(e *evaluation) any {
	a, b := e.integer(0, 0), e.integer(1, 0)
	if e.err != nil {
		return nil
	}
	if b == 0 {
		e.fail("division by zero: %% 0")
		return nil
	}
	return a % b
}

// numbers returns the two operands of an arithmetic operator.
func (e *evaluation) numbers() (a, b any) {
	a, b = operand(e.args[0]), operand(e.args[1])
	if !isNumber(a) || !isNumber(b) {
		e.fail("%s needs two numbers, found %s and %s", e.sourceName(), kind(a), kind(b))
		return 1, 1
	}
	return a, b
}

// compute uses integers if both operands and the result are integers, and else
// floats.
func (e *evaluation) compute(operation arithmetic, a, b any) any {
	if e.tooLong(a) || e.tooLong(b) {
		return nil
	}
	x, xInt := a.(int)
	y, yInt := b.(int)
	if xInt && yInt {
		if result, isExact := operation.ints(x, y); isExact {
			return result
		}
		if e.sourceName() != "/" {
			e.fail("the result of %s is beyond 64 bits", e.sourceName())
			return nil
		}
	}
	return e.finite(operation.floats(asFloat(a), asFloat(b)))
}

// tooLong refuses an integer beyond 64 bits: a float would silently round it.
func (e *evaluation) tooLong(value any) bool {
	number, ok := value.(json.Number)
	if ok {
		e.fail("%s cannot compute with %s: it is beyond 64 bits", e.sourceName(), quote(string(number)))
	}
	return ok
}

// finite returns the float that was computed as a value.
func (e *evaluation) finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.fail("the result of %s is not a number", e.sourceName())
		return nil
	}
	return canonical(f)
}

// power is ** and ^: exact for integers, a float if the exponent is negative or
// fractional.
func power(e *evaluation) any {
	a, b := e.numbers()
	base, baseInt := a.(int)
	exponent, exponentInt := b.(int)
	if !baseInt || !exponentInt || exponent < 0 {
		if e.tooLong(a) || e.tooLong(b) {
			return nil
		}
		return e.finite(math.Pow(asFloat(a), asFloat(b)))
	}
	if exponent > 64 { // overflows, or the base is 0, 1 or -1 and only parity counts
		exponent = 64 + exponent%2
	}
	result := new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(exponent)), nil)
	if !result.IsInt64() {
		e.fail("the result of %s is beyond 64 bits", e.sourceName())
	}
	return int(result.Int64())
}

func negation(e *evaluation) any { return e.compute(subtract, 0, e.number()) }

func absolute(e *evaluation) any {
	if number := e.number(); compareNumbers(number, 0) >= 0 {
		return number
	}
	return negation(e)
}

// number returns the first argument, a number to compute with.
func (e *evaluation) number() any {
	number := operand(e.args[0])
	if !isNumber(number) {
		e.needs(0, "a number")
		return 0
	}
	if e.tooLong(number) {
		return 0
	}
	return number
}

// rounded returns a function that rounds a number to an integer.
func rounded(round func(float64) float64) function {
	return func(e *evaluation) any {
		number := e.number()
		if f, ok := number.(float64); ok {
			return e.finite(round(f))
		}
		return number
	}
}

// span is a..b, both included; it is empty where b is less than a.
func span(e *evaluation) any {
	from, to := e.integer(0, 0), e.integer(1, 0)
	if e.err != nil || to < from {
		return []any{}
	}
	if width := uint(to) - uint(from); width >= maxItems || !e.grow(int(width)+1) {
		e.exceed(itemsExceeded)
		return nil
	}
	numbers := make([]any, 0, to-from+1)
	for number := from; number < to; number++ {
		numbers = append(numbers, number)
	}
	return append(numbers, to)
}

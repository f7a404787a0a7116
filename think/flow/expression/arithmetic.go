package expression

import (
	"encoding/json"
	"math"
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
	return e.add(a, b)
}

// add adds two numeric operands.
func (e *evaluation) add(a, b any) any {
	return e.arithmetic(a, b, addInts, func(x, y float64) float64 { return x + y })
}

func addInts(x, y int) (int, bool) {
	sum := x + y
	return sum, (sum > x) == (y > 0)
}

func subtractInts(x, y int) (int, bool) {
	difference := x - y
	return difference, (difference < x) == (y > 0)
}

func multiplyInts(x, y int) (int, bool) {
	if x == 0 || y == 0 {
		return 0, true
	}
	product := x * y
	wrapped := x == -1 && y == math.MinInt || y == -1 && x == math.MinInt
	return product, !wrapped && product/y == x
}

func subtraction(e *evaluation) any {
	a, b := e.numbers()
	return e.arithmetic(a, b, subtractInts, func(x, y float64) float64 { return x - y })
}

func multiplication(e *evaluation) any {
	a, b := e.numbers()
	return e.arithmetic(a, b, multiplyInts, func(x, y float64) float64 { return x * y })
}

// division is exact where it can be: 6 / 3 is 2 and 7 / 2 is 3.5.
func division(e *evaluation) any {
	a, b := e.numbers()
	if b == 0 {
		e.fail("division by zero")
		return nil
	}
	return e.arithmetic(a, b,
		func(x, y int) (int, bool) { return x / y, x%y == 0 && (y != -1 || x != math.MinInt) },
		func(x, y float64) float64 { return x / y })
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
		e.fail("%s needs two numbers, found %s and %s", e.said(), kind(a), kind(b))
		return 1, 1
	}
	return a, b
}

// arithmetic computes with integers as long as both are and the result is one,
// else with floats. ints reports false where its result is not exact.
func (e *evaluation) arithmetic(a, b any, ints func(x, y int) (int, bool), floats func(x, y float64) float64) any {
	if e.tooLong(a) || e.tooLong(b) {
		return nil
	}
	x, xInt := a.(int)
	y, yInt := b.(int)
	if xInt && yInt {
		if result, isExact := ints(x, y); isExact {
			return result
		}
		if e.said() != "/" {
			e.fail("the result of %s is beyond 64 bits", e.said())
			return nil
		}
	}
	return e.finite(floats(asFloat(a), asFloat(b)))
}

// tooLong refuses to compute with an integer beyond 64 bits: a float would
// silently round it.
func (e *evaluation) tooLong(value any) bool {
	number, ok := value.(json.Number)
	if ok {
		e.fail("%s cannot compute with %s: it is beyond 64 bits", e.said(), quote(string(number)))
	}
	return ok
}

// finite returns a computed float as a value.
func (e *evaluation) finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.fail("the result of %s is not a number", e.said())
		return nil
	}
	return canonical(f)
}

// power is ** and ^: exact for integers, a float where the exponent is
// negative or a fraction.
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
	result, isExact := 1, true
	for square := base; exponent > 0 && isExact; exponent /= 2 {
		if exponent%2 == 1 {
			result, isExact = multiplyInts(result, square)
		}
		if exponent > 1 && isExact {
			square, isExact = multiplyInts(square, square)
		}
	}
	if !isExact {
		e.fail("the result of %s is beyond 64 bits", e.said())
	}
	return result
}

func negation(e *evaluation) any {
	number := e.number(0)
	if i, ok := number.(int); ok && i == math.MinInt {
		e.fail("the result of - is beyond 64 bits")
		return nil
	} else if ok {
		return -i
	}
	return e.finite(-asFloat(number))
}

func absolute(e *evaluation) any {
	if number := e.number(0); compareNumbers(number, 0) >= 0 {
		return number
	}
	return negation(e)
}

// number returns argument i, a number to compute with.
func (e *evaluation) number(i int) any {
	number := operand(e.args[i])
	if !isNumber(number) {
		e.needs(i, "a number")
		return 0
	}
	if e.tooLong(number) {
		return 0
	}
	return number
}

// rounded returns a function that makes an integer of a number.
func rounded(round func(float64) float64) function {
	return func(e *evaluation) any {
		number := e.number(0)
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
		e.fail(itemsExceeded)
		return nil
	}
	numbers := make([]any, 0, to-from+1)
	for number := from; number < to; number++ {
		numbers = append(numbers, number)
	}
	return append(numbers, to)
}

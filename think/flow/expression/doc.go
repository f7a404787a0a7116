// Package expression is the expression and template language of workflows:
// expr-lang made strict, bounded and deterministic. It is the only package
// that knows expr-lang.
//
// # How it works
//
// A source is parsed by expr-lang and walked against an allow-list; every
// operator, member access and function call is rewritten to a call of this
// package, so that expr-lang's virtual machine is left with jumps, loops and
// literals. Nothing of expr-lang that reads a clock, depends on the order of a
// map, wraps an integer or takes a missing field for null can be reached.
//
// # Names
//
// The roots are params, state, steps, run, the loop variable with loop, and result
// where available. They cannot be shadowed. A bare name is the loop variable, a capture
// or a parameter; several matches are AMBIGUOUS_NAME, no match is UNRESOLVED_VAR. Names
// that are not identifiers are reached as state["lint-1"] and steps["lint-1"].status.
//
// An expression of a rule has the roots of Scope.Roots instead, whose values are those
// of Env.Values. Its source may be 8 KB, and it has three functions more, of dates. A list
// of calls of which a predicate says .input.k == value is looked up by these values.
//
// # Values
//
// Values are those of package jsonvalue, and no operation tells apart what
// JSON does not: 2.0 is the integer 2, and 6 / 3 is the integer 2, because a
// value has to mean the same before and after it was on disk. 7 / 2 is 3.5.
// Integers are exact and overflow is an error; integers beyond 64 bits can be
// compared and shown but not computed with. Division by zero, NaN and infinity
// are errors. == between different types is false; < between them is an error.
//
// A missing field, an index out of range and a member of null are errors.
// a?.x is null where a is null or has no x, and then ends the rest of the
// access as well; a ?? b is b where a is null. A declared parameter that was
// not given is null, and so is a soft read of the capture of a skipped step. A hard
// read of that capture ends the evaluation, if it is reached: what ?:, ??, and, or and
// an empty list pass by is not read.
//
// Texts are counted, indexed and sliced by character. Slices and take are cut
// to what there is. first, last, find, min, max, mean and median of nothing
// are null. Whatever is sorted is sorted by bytes and stably. null and nil are
// the same literal.
//
// # Cost
//
// A source has at most 1,024 bytes, and an evaluation at most the steps, list
// items and text that limits.go says. What goes beyond is EXPRESSION_ERROR.
package expression

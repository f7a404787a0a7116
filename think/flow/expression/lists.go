package expression

import "slices"

// first and last are null for an empty list.
func first(e *evaluation) any { return end(e.list(0), 0) }
func last(e *evaluation) any  { return end(e.list(0), -1) }

func end(items []any, index int) any {
	if at, inside := absoluteIndex(index, len(items)); inside {
		return items[at]
	}
	return nil
}

func take(e *evaluation) any {
	items, count := e.list(0), e.integer(1, 0)
	if count < 0 {
		e.fail("take needs a count of 0 or more")
		return nil
	}
	return e.copied(items[:min(count, len(items))])
}

func concat(e *evaluation) any {
	joined := []any{}
	for i := range e.args {
		items := e.list(i)
		if !e.grow(len(items)) {
			return nil
		}
		joined = append(joined, items...)
	}
	return joined
}

// flattened replaces lists in a list by their items, at every depth.
func flattened(e *evaluation) any { return e.flatten([]any{}, e.list(0), 0) }

func (e *evaluation) flatten(flat, items []any, depth int) []any {
	for _, item := range items {
		if !e.spend(1) || !e.fitsDepth(depth) {
			return flat
		}
		if inner, ok := item.([]any); ok {
			flat = e.flatten(flat, inner, depth+1)
		} else if e.grow(1) {
			flat = append(flat, item)
		}
	}
	return flat
}

// uniq keeps the first of equal items. It compares encodings, in linear time.
func uniq(e *evaluation) any {
	seen, kept := map[string]bool{}, []any{}
	for _, item := range e.list(0) {
		key, ok := e.encode(item)
		if !ok {
			return nil
		}
		if !seen[key] && e.grow(1) {
			seen[key] = true
			kept = append(kept, item)
		}
	}
	return kept
}

func sorted(e *evaluation) any {
	items := e.list(0)
	return e.sort(items, items, e.descending(1))
}

// sortedBy sorts its first argument by its second, a key for each item.
func sortedBy(e *evaluation) any { return e.sort(e.list(0), e.list(1), e.descending(2)) }

func (e *evaluation) descending(i int) bool {
	if !e.has(i) {
		return false
	}
	switch e.str(i) {
	case "asc":
		return false
	case "desc":
		return true
	}
	e.fail(`%s sorts "asc" or "desc"`, e.sourceName())
	return false
}

// sort returns the items in the order of their keys, all numbers or all
// strings. Equal keys keep their order, in both directions.
func (e *evaluation) sort(items, keys []any, descending bool) any {
	if e.err != nil || !e.grow(len(items)) {
		return nil
	}
	places := make([]int, len(items))
	for i := range places {
		places[i] = i
	}
	if len(items) == 1 {
		e.compare(keys[0], keys[0]) // a single item is held to the same types
	}
	slices.SortStableFunc(places, func(a, b int) int {
		if e.err != nil || !e.spend(1) {
			return 0
		}
		if descending {
			a, b = b, a
		}
		return e.compare(keys[a], keys[b])
	})
	ordered := make([]any, len(items))
	for i, place := range places {
		ordered[i] = items[place]
	}
	return ordered
}

// groupedBy makes an object of lists: its first argument by its second, a key
// for each item.
func groupedBy(e *evaluation) any {
	items, keys := e.list(0), e.list(1)
	if !e.grow(len(items)) {
		return nil
	}
	groups := map[string]any{}
	for i, item := range items {
		key, ok := groupKey(keys[i])
		if !ok {
			e.fail("groupBy needs a string, a number or a boolean as key, found %s", kind(keys[i]))
			return nil
		}
		group, _ := groups[key].([]any)
		groups[key] = append(group, item)
	}
	return groups
}

// numeric returns the arguments as one flat list of numbers.
func (e *evaluation) numeric() []any {
	numbers := e.flatten(nil, e.args, 0)
	for i, value := range numbers {
		numbers[i] = operand(value)
		if !isNumber(numbers[i]) {
			e.fail("%s needs numbers, found %s", e.sourceName(), kind(value))
			return nil
		}
		if e.tooLong(numbers[i]) {
			return nil
		}
	}
	return numbers
}

func sum(e *evaluation) any {
	e.list(0)
	numbers := e.numeric()
	total := any(0)
	for _, number := range numbers {
		if total = e.compute(add, total, number); e.err != nil {
			return nil
		}
	}
	return total
}

// extreme returns min or max: sign is -1 or 1.
func extreme(sign int) function {
	return func(e *evaluation) any {
		numbers := e.numeric()
		if len(numbers) == 0 {
			return nil
		}
		best := numbers[0]
		for _, number := range numbers[1:] {
			if compareNumbers(number, best) == sign {
				best = number
			}
		}
		return best
	}
}

func mean(e *evaluation) any { return e.middle(e.numeric()) }

func median(e *evaluation) any {
	numbers := e.numeric()
	slices.SortFunc(numbers, compareNumbers)
	half := len(numbers) / 2
	return e.middle(numbers[max(half-1+len(numbers)%2, 0):min(half+1, len(numbers))])
}

// middle is the mean of numbers, null for none.
func (e *evaluation) middle(numbers []any) any {
	if len(numbers) == 0 || e.err != nil {
		return nil
	}
	total := 0.0
	for _, number := range numbers {
		total += asFloat(number)
	}
	return e.finite(total / float64(len(numbers)))
}

// someItems returns the list of a reduce without an initial value.
func someItems(e *evaluation) any {
	items := e.list(0)
	if e.err == nil && len(items) == 0 {
		e.fail("reduce of an empty list needs a value to start from, as its third argument")
	}
	return items
}

package state

import "container/list"

// lru keeps the most recently used values under their key. It is not safe for
// concurrent use.
type lru[V any] struct {
	limit int
	order *list.List // of *slot[V], the last used in front
	slots map[Key]*list.Element
	// keep says that a value must stay for now; drop is told of one that went.
	keep func(V) bool
	drop func(Key, V)
}

type slot[V any] struct {
	key   Key
	value V
}

func newLRU[V any](limit int, keep func(V) bool, drop func(Key, V)) *lru[V] {
	return &lru[V]{limit: limit, order: list.New(), slots: map[Key]*list.Element{}, keep: keep, drop: drop}
}

func (c *lru[V]) get(key Key) (V, bool) {
	element, ok := c.slots[key]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*slot[V]).value, true
}

// put adds or replaces a value.
func (c *lru[V]) put(key Key, value V) {
	if element, ok := c.slots[key]; ok {
		element.Value.(*slot[V]).value = value
		c.order.MoveToFront(element)
		return
	}
	c.slots[key] = c.order.PushFront(&slot[V]{key, value})
	c.trim()
}

// trim drops the values used longest ago, beyond the limit.
func (c *lru[V]) trim() {
	for element := c.order.Back(); element != nil && len(c.slots) > c.limit; {
		before := element.Prev()
		if held := element.Value.(*slot[V]); !c.keep(held.value) {
			c.remove(held.key)
			c.drop(held.key, held.value)
		}
		element = before
	}
}

func (c *lru[V]) remove(key Key) {
	if element, ok := c.slots[key]; ok {
		c.order.Remove(element)
		delete(c.slots, key)
	}
}

// all returns the values, the last used first.
func (c *lru[V]) all() []V {
	values := make([]V, 0, len(c.slots))
	for element := c.order.Front(); element != nil; element = element.Next() {
		values = append(values, element.Value.(*slot[V]).value)
	}
	return values
}

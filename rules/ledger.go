package rules

import (
	"cmp"
	"slices"
	"strings"

	"savant/internal/pattern"
)

// ledger is the calls of one session, or of a project, in the order in which they
// began, with indexes.
type ledger struct {
	count, events int
	lists         map[listKey]*list
	open          map[string][]*Made // by tool: running, or ended in a way nobody knows
	ended         map[string]int     // by tool: the event at which its last call ended
	used          map[string][]*Made // by rule and value of per
	began         map[*Made]int      // the events at which the open calls began
}

// listKey says which calls a list has: those of a tool, or those of them whose input has
// given values under the keys of an index.
type listKey struct {
	failed      bool
	tool        string
	keys, equal string
}

// list is calls with what expressions see of them.
type list struct {
	items []any
	made  []*Made
	began []int
}

func newLedger() *ledger {
	return &ledger{lists: map[listKey]*list{}, open: map[string][]*Made{}, ended: map[string]int{}, used: map[string][]*Made{}, began: map[*Made]int{}}
}

func (l *ledger) tick() int {
	l.events++
	return l.events
}

func (l *ledger) add(made *Made) {
	l.count++
	l.began[made] = l.tick()
	l.open[made.Tool] = append(l.open[made.Tool], made)
}

// settle files a call under its tool and the indexes of it. One whose outcome is not
// known stays open.
func (l *ledger) settle(made *Made, indexes []index) {
	if made.outcome != Failed {
		l.ended[made.Tool] = l.tick()
	}
	if made.outcome == Unknown {
		return
	}
	l.open[made.Tool] = slices.DeleteFunc(l.open[made.Tool], func(each *Made) bool { return each == made })
	began := l.began[made]
	delete(l.began, made)
	key := listKey{failed: made.outcome == Failed, tool: made.Tool}
	l.list(key).insert(made, began)
	for _, each := range indexes {
		if equal, has := valuesOf(made.Input, each.keys); has {
			key.keys, key.equal = each.name, equal
			l.list(key).insert(made, began)
		}
	}
}

func (l *ledger) list(key listKey) *list {
	if l.lists[key] == nil {
		l.lists[key] = &list{}
	}
	return l.lists[key]
}

// insert keeps the order in which calls began; the last one is nearly always the last.
func (l *list) insert(made *Made, began int) {
	at, _ := slices.BinarySearch(l.began, began)
	l.began = slices.Insert(l.began, at, began)
	l.made = slices.Insert(l.made, at, made)
	l.items = slices.Insert(l.items, at, any(made.item))
}

// valuesOf returns the values of keys of an input as one text; has reports whether all
// are there.
func valuesOf(input map[string]any, keys []string) (equal string, has bool) {
	texts := make([]string, len(keys))
	for i, key := range keys {
		value, known := input[key]
		if !known {
			return "", false
		}
		texts[i] = encoded(value)
	}
	return strings.Join(texts, "\x00"), true
}

// calls returns the calls of a list as expressions see them; with open, also those that
// are not settled.
func (l *ledger) calls(key listKey, keys []string, open bool) []any {
	var items []any
	if found := l.lists[key]; found != nil {
		items = found.items
	}
	if items == nil {
		items = []any{}
	}
	if !open || len(l.open[key.tool]) == 0 {
		return items
	}
	added := false
	for _, made := range l.open[key.tool] {
		if equal, has := valuesOf(made.Input, keys); has && equal == key.equal {
			if !added {
				items, added = slices.Clone(items), true
			}
			items = append(items, made.item)
		}
	}
	if added {
		slices.SortStableFunc(items, func(a, b any) int {
			return cmp.Compare(a.(map[string]any)["at"].(int), b.(map[string]any)["at"].(int))
		})
	}
	return items
}

// lastEnd returns the event at which the last call of some tools ended, or may still
// end: then no call is after it.
func (l *ledger) lastEnd(tools []string) (event int, running bool) {
	for _, name := range tools {
		if !isPattern(name) {
			event, running = max(event, l.ended[name]), running || l.running(name)
			continue
		}
		for tool, at := range l.ended {
			if pattern.Matches(name, tool) {
				event = max(event, at)
			}
		}
		for tool := range l.open {
			running = running || pattern.Matches(name, tool) && l.running(tool)
		}
	}
	return event, running
}

func (l *ledger) running(tool string) bool {
	return slices.ContainsFunc(l.open[tool], func(made *Made) bool { return made.running })
}

// use notes that a call used up one of what a rule lets pass, in the order of time.
func (l *ledger) use(key string, made *Made) {
	uses := l.used[key]
	at, _ := slices.BinarySearchFunc(uses, made.Time+1, func(each *Made, time int64) int { return cmp.Compare(each.Time, time) })
	l.used[key] = slices.Insert(uses, at, made)
}

// giveBack takes a use back, of a call that failed.
func (l *ledger) giveBack(key string, made *Made) {
	l.used[key] = slices.DeleteFunc(l.used[key], func(each *Made) bool { return each == made })
}

// usedSince counts what was used up since a time, at most up to a number, and returns
// the last use.
func (l *ledger) usedSince(key string, since int64, most int) (count int, last *Made) {
	uses := l.used[key]
	for i := len(uses) - 1; i >= 0 && uses[i].Time > since && count < most; i-- {
		count++
	}
	if count > 0 {
		last = uses[len(uses)-1]
	}
	return count, last
}

// Package calendar reads dates. It is what the language of expressions needs of package
// time: nothing in it reads a clock or the zone of the machine.
package calendar

import (
	"cmp"
	"fmt"
	"time"
)

// layouts are those of a text without a layout of its own.
var layouts = [...]string{time.DateOnly, time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04", "2006-01-02 15:04", "20060102", time.RFC1123Z, time.RFC1123}

// Parse returns the seconds from 1970 to a date, and the nanoseconds after. The layout is
// one of package time; "" means any that people usually write. A text without a zone is
// in UTC.
func Parse(text, layout string) (seconds int64, nanoseconds int, err error) {
	tried := layouts[:]
	if layout != "" {
		tried = []string{layout}
	}
	for _, each := range tried {
		if read, err := time.ParseInLocation(each, text, time.UTC); err == nil {
			return read.Unix(), read.Nanosecond(), nil
		}
	}
	return 0, 0, fmt.Errorf("it is not written as %s", cmp.Or(layout, time.DateOnly))
}

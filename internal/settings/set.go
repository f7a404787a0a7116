package settings

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxWait is a day in milliseconds: more is a mistake, and far from overflowing a duration.
const maxWait = 86_400_000

// assign fills the field of a setting by the field's type. It returns what was
// expected instead of the value, or "" where the value fits.
func (s Setting) assign(into *Settings, value string) (expected string) {
	if len(s.Allowed) > 0 && value != s.Default && !slices.Contains(s.Allowed, value) {
		return "one of " + strings.Join(s.Allowed, ", ")
	}
	number, err := strconv.Atoi(value)
	bounded := err == nil && number >= s.Min && number <= s.Max
	switch field := s.field(into).(type) {
	case *string:
		if s.needs != "" && (value == "" || strings.ContainsRune(value, 0)) {
			return s.needs
		}
		*field = value
	case *[]string:
		*field = s.list(value)
		if s.needs != "" && len(*field) == 0 {
			return s.needs
		}
	case *bool:
		if *field, err = strconv.ParseBool(value); err != nil {
			return "true or false, 1 or 0"
		}
	case *int:
		if *field = number; !bounded {
			return fmt.Sprintf("a number from %d to %d", s.Min, s.Max)
		}
	case *time.Duration:
		if !bounded {
			return fmt.Sprintf("milliseconds from %d to %d", s.Min, s.Max)
		}
		*field = time.Duration(number) * time.Millisecond
		if number == 0 { // never
			*field = -1
		}
	case *Prices:
		var err error
		if *field, err = readPrices(value); err != nil {
			return err.Error()
		}
	case *slog.Level:
		if field.UnmarshalText([]byte(value)) != nil {
			return "a level"
		}
	}
	return ""
}

func (s Setting) list(value string) []string {
	if s.Kind == Folders {
		return folders(value)
	}
	return commaList(value)
}

// folders reads a list of folders as PATH has it.
func folders(value string) []string {
	var list []string
	for _, folder := range filepath.SplitList(value) {
		if folder != "" {
			list = append(list, folder)
		}
	}
	return list
}

package terminal

import (
	"fmt"
	"time"
)

// When formats an RFC 3339 time for a person, in the zone of now: "3 min ago" today,
// "yesterday 14:05", "14 Nov 09:30", "2025-11-14". Other text is returned unchanged.
func When(text string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	at = at.In(now.Location())
	year, month, day := now.Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	switch ago := now.Sub(at); {
	case ago < -time.Minute: // a clock other than this one
		return at.Format("2006-01-02 15:04")
	case ago < 5*time.Second:
		return "now"
	case ago < time.Minute:
		return fmt.Sprintf("%d s ago", int(ago.Seconds()))
	case ago < time.Hour:
		return fmt.Sprintf("%d min ago", int(ago.Minutes()))
	case ago < 12*time.Hour:
		return fmt.Sprintf("%d h ago", int(ago.Hours()))
	case !at.Before(midnight):
		return "today " + at.Format("15:04")
	case !at.Before(midnight.AddDate(0, 0, -1)):
		return "yesterday " + at.Format("15:04")
	case ago < 300*24*time.Hour:
		return at.Format("2 Jan 15:04")
	}
	return at.Format("2006-01-02")
}

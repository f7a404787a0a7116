package terminal

// Colour is a text style, as SGR parameters.
type Colour string

// The colours used.
const (
	Bold  Colour = "1"
	Faint Colour = "2"
	Green Colour = "32"
	Red   Colour = "31"
)

// Paint returns text in a colour, if coloured is set.
func Paint(coloured bool, colour Colour, text string) string {
	if !coloured {
		return text
	}
	return "\x1b[" + string(colour) + "m" + text + "\x1b[0m"
}

// ClearLine moves the cursor to the start of an empty line (ECMA-48: CR, EL).
const ClearLine = "\r\x1b[K"

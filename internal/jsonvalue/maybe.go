package jsonvalue

// TextOrValue returns the value of a text that is JSON, and else the text itself.
// Answers of models and people are read so. It reads like DecodeStored, so that
// a replayed run gets the same value as before.
func TextOrValue(text string) any {
	value, err := DecodeStored([]byte(text))
	if err != nil {
		return text
	}
	return value
}

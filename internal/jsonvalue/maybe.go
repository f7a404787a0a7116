package jsonvalue

// TextOrValue returns the value of a text that is JSON, and the text itself
// where it is not. Answers of models and people are read so. It accepts what
// DecodeStored does: a run that is replayed must read the same as before.
func TextOrValue(text string) any {
	value, err := DecodeStored([]byte(text))
	if err != nil {
		return text
	}
	return value
}

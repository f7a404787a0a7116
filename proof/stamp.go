package proof

// Stamps checks the time stamps of signatures.
type Stamps struct{}

func (s *Stamps) trusted() bool { return false }

func (s *Stamps) check(token string, sig []byte, signer *Signer) error { return nil }

package schemas

// Source returns a named schema as it was written; do not change it.
func (s *Set) Source(name string) (any, bool) {
	found, ok := s.sources[name]
	return found.value, ok
}

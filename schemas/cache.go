package schemas

import "sync"

// maxCached bounds the text of the compiled schemas a Set keeps, in bytes; what
// is compiled takes about twenty times that. think.validate takes any schema a
// client sends, so without a bound memory would grow with them.
const maxCached = 2 << 20

// cache compiles each schema once, also when several goroutines ask at once.
type cache struct {
	mutex   sync.Mutex
	entries map[string]func() (*Schema, error)
	size    int
}

func newCache() *cache { return &cache{entries: map[string]func() (*Schema, error){}} }

// get returns the schema of a key, which is its text or its name.
func (c *cache) get(key string, compile func() (*Schema, error)) (*Schema, error) {
	c.mutex.Lock()
	once, cached := c.entries[key]
	if !cached {
		if c.size += len(key); c.size > maxCached {
			clear(c.entries)
			c.size = len(key)
		}
		once = sync.OnceValues(compile)
		c.entries[key] = once
	}
	c.mutex.Unlock()
	return once()
}

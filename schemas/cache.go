package schemas

import "sync"

// maxCached bounds the compiled schemas of a Set by the bytes of their text. A
// compiled schema takes about twenty times its text. Clients send schemas to
// think.validate, so the cache must not grow without a bound.
const maxCached = 2 << 20

// cache compiles each schema once, even for concurrent callers.
type cache struct {
	mutex   sync.Mutex
	entries map[string]func() (*Schema, error)
	size    int
}

func newCache() *cache { return &cache{entries: map[string]func() (*Schema, error){}} }

// get returns the schema of a key, compiled once.
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

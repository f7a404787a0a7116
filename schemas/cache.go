package schemas

import "sync"

// maxCached bounds the compiled schemas a Set keeps. think.validate takes any
// schema a client sends, so without a bound memory would grow with them.
const maxCached = 1000

// cache compiles each schema once, also when several goroutines ask at once.
type cache struct {
	mutex   sync.Mutex
	entries map[string]func() (*Schema, error)
}

func newCache() *cache { return &cache{entries: map[string]func() (*Schema, error){}} }

func (c *cache) get(key string, compile func() (*Schema, error)) (*Schema, error) {
	c.mutex.Lock()
	once, cached := c.entries[key]
	if !cached {
		if len(c.entries) >= maxCached {
			clear(c.entries)
		}
		once = sync.OnceValues(compile)
		c.entries[key] = once
	}
	c.mutex.Unlock()
	return once()
}

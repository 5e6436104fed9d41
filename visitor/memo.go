package visitor

import (
	"strings"
	"sync"
)

// memo remembers what was made of a string, for at most 2*half strings: what was
// asked for lately survives, the rest is forgotten half by half. It is safe for
// concurrent use.
type memo[V any] struct {
	half int

	mu       sync.Mutex
	new, old map[string]V // Protected by mu.
}

func newMemo[V any](half int) *memo[V] {
	return &memo[V]{half: half, new: map[string]V{}}
}

// get returns what was remembered of key, or what compute makes of it. Two who ask
// at once may both compute.
func (m *memo[V]) get(key string, compute func(string) V) V {
	m.mu.Lock()
	v, ok := m.new[key]
	if !ok {
		if v, ok = m.old[key]; ok {
			m.put(key, v)
		}
	}
	m.mu.Unlock()
	if ok {
		return v
	}
	// A copy, because key may be a small part of something large.
	key = strings.Clone(key)
	v = compute(key)
	m.mu.Lock()
	m.put(key, v)
	m.mu.Unlock()
	return v
}

// put is called with mu held.
func (m *memo[V]) put(key string, v V) {
	if len(m.new) >= m.half {
		m.old, m.new = m.new, make(map[string]V, m.half)
	}
	m.new[key] = v
}

func (m *memo[V]) len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.new) + len(m.old)
}

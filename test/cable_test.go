package test

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// cable carries connections to a server. It can be cut, then nothing gets through, and
// neither end is told; it can be slow; and all it carries can be severed.
type cable struct {
	address string // Where it is plugged in.

	mu      sync.Mutex // Protects what follows.
	changed *sync.Cond
	isCut   bool
	trap    []byte        // Cuts it when a client sends this.
	delay   time.Duration // Of all that a server says.
	ends    map[net.Conn]bool
	closed  bool
}

func lay(t *testing.T, network, server string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{address: l.Addr().String(), ends: map[net.Conn]bool{}}
	c.changed = sync.NewCond(&c.mu)
	var wg sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		c.set(func() { c.isCut, c.closed = false, true })
		c.sever()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, server)
			if err != nil {
				near.Close()
				continue
			}
			c.set(func() {
				if c.closed {
					near.Close()
					far.Close()
					return
				}
				c.ends[near], c.ends[far] = true, true
			})
			wg.Go(func() { c.carry(far, near, true) })
			wg.Go(func() { c.carry(near, far, false) })
		}
	})
	return c
}

// carry copies from one end to the other while the cable is whole.
func (c *cable) carry(to, from net.Conn, fromClient bool) {
	defer c.pull(to)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if delay := c.pass(buf[:n], fromClient); delay > 0 {
			<-time.After(delay)
		}
		if _, writeErr := to.Write(buf[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

// pass returns when data may go on, after a delay.
func (c *cable) pass(data []byte, fromClient bool) (delay time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fromClient && c.trap != nil && bytes.Contains(data, c.trap) {
		c.trap, c.isCut = nil, true
	}
	for c.isCut {
		c.changed.Wait()
	}
	if fromClient || c.closed {
		return 0
	}
	return c.delay
}

func (c *cable) pull(end net.Conn) {
	end.Close()
	c.set(func() { delete(c.ends, end) })
}

// cutAt cuts it before the first thing that a client sends and that contains the text.
func (c *cable) cutAt(text string) { c.set(func() { c.trap = []byte(text) }) }

func (c *cable) mend() { c.set(func() { c.isCut = false }) }

// slow delays what the server says.
func (c *cable) slow(delay time.Duration) { c.set(func() { c.delay = delay }) }

// sever ends what is connected, and tells both ends.
func (c *cable) sever() {
	c.set(func() {
		for end := range c.ends {
			end.Close()
		}
	})
}

func (c *cable) hasBeenCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isCut
}

func (c *cable) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.changed.Broadcast()
}

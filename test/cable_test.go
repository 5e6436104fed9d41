package test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// cable carries connections to a server, and can be cut: then nothing gets through,
// and neither end is told.
type cable struct {
	address string // Where it is plugged in.

	mu    sync.Mutex
	whole *sync.Cond
	isCut bool
}

func lay(t *testing.T, network, server string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{address: l.Addr().String()}
	c.whole = sync.NewCond(&c.mu)
	var wg sync.WaitGroup
	var ends endpoints
	t.Cleanup(func() {
		l.Close()
		c.mend()
		ends.close()
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
			ends.add(near, far)
			wg.Go(func() { c.carry(far, near) })
			wg.Go(func() { c.carry(near, far) })
		}
	})
	return c
}

// carry copies from one end to the other while the cable is whole.
func (c *cable) carry(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		for c.isCut {
			c.whole.Wait()
		}
		c.mu.Unlock()
		if _, writeErr := to.Write(buf[:n]); err != nil || writeErr != nil {
			return
		}
	}
}

func (c *cable) cut() { c.set(true) }

func (c *cable) mend() { c.set(false) }

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = cut
	c.whole.Broadcast()
}

// endpoints are connections to be closed together.
type endpoints struct {
	mu  sync.Mutex
	all []io.Closer
}

func (e *endpoints) add(conns ...io.Closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, conns...)
}

func (e *endpoints) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.all {
		c.Close()
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// connections is how many clients ask at the same time.
const connections = 32

// load is clients that ask for paths on connections that are kept open. They write
// requests and read answers by hand: an HTTP client would cost more than the servers do.
type load struct {
	address string
	status  string // Of every answer. Empty: 307.
	// path appends where the next request goes to.
	path func(to []byte, random *rand.Rand) []byte
}

// onePath always asks for the same.
func onePath(path string) func([]byte, *rand.Rand) []byte {
	return func(to []byte, _ *rand.Rand) []byte { return append(to, path...) }
}

// randomPath asks for /c0, /c1 and so on, evenly.
func randomPath(links int) func([]byte, *rand.Rand) []byte {
	return func(to []byte, random *rand.Rand) []byte {
		return strconv.AppendInt(append(to, "/c"...), random.Int64N(int64(links)), 10)
	}
}

// nextPath asks for a prefix with every number from 0 on, each once.
func nextPath(prefix string) func([]byte, *rand.Rand) []byte {
	var n atomic.Int64
	return func(to []byte, _ *rand.Rand) []byte {
		return strconv.AppendInt(append(to, prefix...), n.Add(1)-1, 10)
	}
}

// perSecond is how many answers there are in a second.
func (l load) perSecond(ctx context.Context, length time.Duration) (float64, error) {
	took, elapsed, err := l.during(ctx, length)
	return float64(len(took)) / elapsed.Seconds(), err
}

// during asks for so long, and returns how long each answer took, in no order.
func (l load) during(ctx context.Context, length time.Duration) (took []time.Duration, elapsed time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	return l.ask(func() bool { return ctx.Err() == nil })
}

// times asks so often.
func (l load) times(ctx context.Context, n int) error {
	var asked atomic.Int64
	_, _, err := l.ask(func() bool { return asked.Add(1) <= int64(n) && ctx.Err() == nil })
	return errors.Join(err, ctx.Err())
}

func (l load) ask(more func() bool) (took []time.Duration, elapsed time.Duration, err error) {
	began := time.Now()
	var mu sync.Mutex // Protects took and err.
	var wg sync.WaitGroup
	for n := range connections {
		wg.Go(func() {
			own, wrong := l.askOn(more, rand.New(rand.NewPCG(1, uint64(n))))
			mu.Lock()
			defer mu.Unlock()
			took, err = append(took, own...), errors.Join(err, wrong)
		})
	}
	wg.Wait()
	return took, time.Since(began), err
}

// askOn asks on a connection of its own.
func (l load) askOn(more func() bool, random *rand.Rand) (took []time.Duration, err error) {
	conn, err := net.Dial("tcp", l.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	status := l.status
	if status == "" {
		status = "307"
	}
	r := bufio.NewReader(conn)
	rest := []byte(" HTTP/1.1\r\nHost: " + l.address +
		"\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0" +
		"\r\nAccept-Language: en-US,en;q=0.5\r\n\r\n")
	var request []byte
	for more() {
		request = append(l.path(append(request[:0], "GET "...), random), rest...)
		began := time.Now()
		if _, err := conn.Write(request); err != nil {
			return took, err
		}
		if err := answer(r, status); err != nil {
			return took, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// answer reads an answer, and checks its status.
func answer(r *bufio.Reader, status string) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 12 || string(line[9:12]) != status {
		return fmt.Errorf("answered %q", line)
	}
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			_, err := r.Discard(length)
			return err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return errors.New("the answer's body has no length")
		}
	}
}

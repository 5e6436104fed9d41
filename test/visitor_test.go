package test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// errRefused: the request was never sent.
var errRefused = errors.New("no connection")

// visitor is a client with one connection that it keeps. The client of net/http
// would not do: it repeats a request whose connection broke, and then nobody knows
// how often it was answered.
type visitor struct {
	addr string // Of conn.
	conn net.Conn
	in   *bufio.Reader
}

// get sends one request and reads the answer, whose body is read already. An error
// that is not errRefused means that the request may have been answered or not.
func (v *visitor) get(addr, path string) (*http.Response, error) {
	if v.conn == nil || v.addr != addr {
		if err := v.dial(addr); err != nil {
			return nil, err
		}
	}
	resp, err := v.exchange(path)
	if err != nil || resp.Close {
		v.close()
	}
	return resp, err
}

func (v *visitor) dial(addr string) error {
	v.close()
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	v.addr, v.conn, v.in = addr, conn, bufio.NewReader(conn)
	return nil
}

func (v *visitor) exchange(path string) (*http.Response, error) {
	if err := v.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(v.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: visitor\r\n\r\n", path, v.addr); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(v.in, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp, err
}

// getAndReset reads no more of the answer than its status line, and resets the
// connection.
func (v *visitor) getAndReset(addr, path string) (status string, err error) {
	if err := v.dial(addr); err != nil {
		return "", err
	}
	defer v.close()
	if _, err := fmt.Fprintf(v.conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, addr); err != nil {
		return "", err
	}
	status, err = v.in.ReadString('\n')
	return status, errors.Join(err, v.conn.(*net.TCPConn).SetLinger(0))
}

func (v *visitor) close() {
	if v.conn != nil {
		_ = v.conn.Close() // Nothing of interest is left in it.
		v.conn = nil
	}
}

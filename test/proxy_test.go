package test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Servers of these tests must come back on the same address, and nothing else of the
// machine may take it meanwhile. So each kind has a loopback address of its own.
const (
	websHost  = "127.0.0.2"
	proxyHost = "127.0.0.3"
	site      = "snip.example"
)

// freeAddr returns an address that a server can listen on.
func freeAddr(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// proxy stands before webs, with TLS.
type proxy struct {
	*process
	plain, secure string // Where it listens.
	roots         *x509.CertPool
	waits         bool // It holds requests for a while when no web is there.
}

// startNginx starts nginx on deploy/nginx.conf, before two webs.
func startNginx(t *testing.T, webs [2]string) *proxy {
	t.Helper()
	dir := sharedDir(t) // Its workers are not root.
	p := &proxy{plain: freeAddr(t, proxyHost), secure: freeAddr(t, proxyHost)}
	certificate, key := filepath.Join(dir, "snip.crt"), filepath.Join(dir, "snip.key")
	p.roots = writeCertificate(t, certificate, key)
	write(t, filepath.Join(dir, "snip.conf"), replaceAll(t, readRoot(t, "deploy/nginx.conf"), map[string]string{
		"127.0.0.1:8080":    webs[0],
		"127.0.0.1:8090":    webs[1],
		"listen 80;":        "listen " + p.plain + ";",
		"listen 443 ":       "listen " + p.secure + " ",
		"/etc/ssl/snip.crt": certificate,
		"/etc/ssl/snip.key": key,
	}))
	write(t, filepath.Join(dir, "nginx.conf"), strings.ReplaceAll(`
		daemon off;
		pid DIR/nginx.pid;
		error_log stderr;
		events {}
		http {
			access_log off;
			client_body_temp_path DIR/body;
			proxy_temp_path DIR/proxy;
			fastcgi_temp_path DIR/fastcgi;
			uwsgi_temp_path DIR/uwsgi;
			scgi_temp_path DIR/scgi;
			include DIR/snip.conf;
		}`, "DIR", dir))
	p.process = &process{t: t, log: &logbook{}, ended: make(chan struct{})}
	p.cmd = exec.Command(tool(t, "nginx"), "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
	// Its workers would outlive a master that is killed.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	p.open()
	return p
}

// startCaddy starts Caddy on deploy/Caddyfile, before two webs.
func startCaddy(t *testing.T, webs [2]string) *proxy {
	t.Helper()
	dir := t.TempDir()
	p := &proxy{plain: freeAddr(t, proxyHost), secure: freeAddr(t, proxyHost), waits: true}
	write(t, filepath.Join(dir, "Caddyfile"), fmt.Sprintf(`{
		admin off
		local_certs
		skip_install_trust
		default_bind %s
		http_port %s
		https_port %s
	}
	import %s`, proxyHost, port(t, p.plain), port(t, p.secure), filepath.Join(root(t), "deploy/Caddyfile")))
	p.process = &process{t: t, log: &logbook{}, ended: make(chan struct{})}
	p.cmd = exec.Command(tool(t, "caddy"), "run", "--config", filepath.Join(dir, "Caddyfile"), "--adapter", "caddyfile")
	p.cmd.Env = []string{
		"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir,
		"SNIP_SITE=" + site, "SNIP_WEBS=" + strings.Join(webs[:], " "),
	}
	p.open()
	p.roots = x509.NewCertPool()
	eventually(t, "Caddy has a certificate", func() bool {
		authority, err := os.ReadFile(filepath.Join(dir, "caddy/pki/authorities/local/root.crt"))
		if err != nil || !p.roots.AppendCertsFromPEM(authority) {
			return false
		}
		conn, err := tls.Dial("tcp", p.secure, &tls.Config{ServerName: site, RootCAs: p.roots})
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p
}

// open starts the proxy, and stops it when the test ends.
func (p *proxy) open() {
	p.t.Helper()
	p.begin()
	p.t.Cleanup(p.stop)
	for _, addr := range []string{p.plain, p.secure} {
		eventually(p.t, p.String()+" listens", func() bool {
			p.mustRun()
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				conn.Close()
			}
			return err == nil
		})
	}
}

// client returns a client that comes from an address of this machine. It follows
// nothing.
func (p *proxy) client(from string, http2 bool) *http.Client {
	p.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: patience}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.HasSuffix(addr, ":80") {
				return dialer.DialContext(ctx, network, p.plain)
			}
			return dialer.DialContext(ctx, network, p.secure)
		},
		TLSClientConfig:        &tls.Config{RootCAs: p.roots},
		Protocols:              new(http.Protocols),
		MaxResponseHeaderBytes: 1 << 20,
	}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetHTTP2(http2)
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// reply is an answer that is read to its end.
type reply struct {
	*http.Response
	body string
}

func (p *proxy) ask(client *http.Client, method, path string, header http.Header, body string) reply {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, "https://"+site+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	resp, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return reply{resp, string(text)}
}

// writeCertificate makes a certificate for the site, and returns who trusts it.
func writeCertificate(t *testing.T, certificate, key string) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{site}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})
	write(t, certificate, string(text))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return roots
}

func port(t *testing.T, addr string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

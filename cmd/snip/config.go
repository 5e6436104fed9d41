package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"snip"
)

// config is what the environment says. The README has the same table.
type config struct {
	Addr        string   `env:"SNIP_ADDR" envDefault:"127.0.0.1:8080"`
	MetricsAddr string   `env:"SNIP_METRICS_ADDR"`
	BaseURL     string   `env:"SNIP_BASE_URL"`
	DataDir     string   `env:"SNIP_DATA_DIR" envDefault:"./snip-data"`
	OpenShorten *bool    `env:"SNIP_OPEN_SHORTEN"`
	Schemes     []string `env:"SNIP_SCHEMES"`

	TrustedProxies []string `env:"SNIP_TRUSTED_PROXIES"`
	CountryDB      string   `env:"SNIP_COUNTRY_DB"`
	RespectPrivacy bool     `env:"SNIP_RESPECT_PRIVACY"`

	TimeZone zone `env:"SNIP_TIME_ZONE" envDefault:"UTC"`
	FineDays int  `env:"SNIP_FINE_DAYS" envDefault:"400"`

	SpoolBytes        size          `env:"SNIP_SPOOL_BYTES" envDefault:"256MB"`
	SpoolSegmentBytes size          `env:"SNIP_SPOOL_SEGMENT_BYTES" envDefault:"4MB"`
	SpoolSync         time.Duration `env:"SNIP_SPOOL_SYNC" envDefault:"1s"`
	ClicksBytes       size          `env:"SNIP_CLICKS_BYTES" envDefault:"4GB"`
	OutboxRows        int64         `env:"SNIP_OUTBOX_ROWS" envDefault:"1000000"`
	Session           time.Duration `env:"SNIP_SESSION" envDefault:"5s"`
	Drain             time.Duration `env:"SNIP_DRAIN" envDefault:"10s"`

	LogFormat string `env:"SNIP_LOG_FORMAT" envDefault:"auto"`
	LogLevel  string `env:"SNIP_LOG_LEVEL" envDefault:"info"`

	Database    string `env:"DATABASE_URL"`
	Connections int    `env:"SNIP_CONNECTIONS"`

	// Later versions read these. To ignore one would put data where nobody looks for it.
	Redis string `env:"REDIS_URL"`
	Queue string `env:"QUEUE_URL"`
	Tasks string `env:"TASKS_URL"`
	Log   string `env:"LOG_URL"`
}

func readConfig(environ []string, p parts) (config, error) {
	c, err := env.ParseAsWithOptions[config](env.Options{
		Environment: env.ToMap(environ),
		FuncMap:     map[reflect.Type]env.ParserFunc{reflect.TypeFor[size](): parseSize, reflect.TypeFor[zone](): parseZone},
	})
	if err != nil {
		return c, &usageError{named(err)}
	}
	if c.MetricsAddr == "" {
		c.MetricsAddr = "127.0.0.1:8081"
		if !p.web {
			c.MetricsAddr = "127.0.0.1:8082"
		}
	}
	if c.Connections == 0 {
		c.Connections = 4
		if p.web {
			c.Connections = 10
		}
	}
	c.BaseURL = strings.TrimSuffix(c.BaseURL, "/")
	if err := c.check(); err != nil {
		return c, &usageError{err}
	}
	return c, nil
}

// named says which variable is wrong, where err only knows the field it is read into.
func named(err error) error {
	p, ok := errors.AsType[env.ParseError](err)
	if !ok {
		return err
	}
	field, _ := reflect.TypeFor[config]().FieldByName(p.Name)
	return fmt.Errorf("%s: %w", field.Tag.Get("env"), p.Err)
}

func (c config) check() error {
	for name, value := range map[string]string{
		"REDIS_URL": c.Redis, "QUEUE_URL": c.Queue, "TASKS_URL": c.Tasks, "LOG_URL": c.Log,
	} {
		if value != "" {
			return fmt.Errorf("%s is set, but this version keeps everything in DATABASE_URL or SNIP_DATA_DIR: unset it", name)
		}
	}
	if c.Database != "" && !strings.HasPrefix(c.Database, "postgres://") && !strings.HasPrefix(c.Database, "postgresql://") {
		// What it is may be a secret.
		return errors.New("DATABASE_URL must be a PostgreSQL database, such as postgres://user:password@host/database")
	}
	if c.BaseURL != "" {
		u, err := url.Parse(c.BaseURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			// What it is may hold a password.
			return errors.New("SNIP_BASE_URL must be a scheme and a host, such as https://snip.example")
		}
	}
	for name, addr := range map[string]string{"SNIP_ADDR": c.Addr, "SNIP_METRICS_ADDR": c.MetricsAddr} {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("%s %q must be host:port, such as 127.0.0.1:8080", name, addr)
		}
	}
	if c.DataDir == "" {
		return errors.New("SNIP_DATA_DIR must not be empty")
	}
	if c.Connections < 2 {
		return fmt.Errorf("SNIP_CONNECTIONS is %d, must be 2 or more", c.Connections)
	}
	if c.OutboxRows < 1 {
		return fmt.Errorf("SNIP_OUTBOX_ROWS is %d, must be 1 or more", c.OutboxRows)
	}
	if c.FineDays < 0 {
		return fmt.Errorf("SNIP_FINE_DAYS is %d, must be a number of days, or 0 for ever", c.FineDays)
	}
	for name, d := range map[string]time.Duration{"SNIP_DRAIN": c.Drain, "SNIP_SESSION": c.Session} {
		if d <= 0 {
			return fmt.Errorf("%s is %s, must be more than 0", name, d)
		}
	}
	return nil
}

// zone is a time zone by its name.
type zone struct{ *time.Location }

func parseZone(text string) (any, error) {
	z, err := time.LoadLocation(text)
	if err != nil || text == "Local" {
		return nil, fmt.Errorf("%q is no time zone such as UTC or Europe/Berlin", text)
	}
	return zone{z}, nil
}

func (c config) database() string { return filepath.Join(c.DataDir, "snip.db") }
func (c config) logFile() string  { return filepath.Join(c.DataDir, "log.db") }
func (c config) spoolDir() string { return filepath.Join(c.DataDir, "spool") }

// openShorten tells whether anybody may shorten: as configured, or else only where
// nobody but this machine can ask.
func (c config) openShorten() bool {
	if c.OpenShorten != nil {
		return *c.OpenShorten
	}
	return c.BaseURL == "" && loopback(c.Addr)
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// size is a number of bytes, written such as 65536, 512kB, 256MB or 4GB, in powers
// of 1024.
type size int64

func parseSize(s string) (any, error) {
	units := []struct {
		suffix string
		factor int64
	}{{"kB", 1 << 10}, {"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}, {"", 1}}
	for _, u := range units {
		number, ok := strings.CutSuffix(strings.TrimSpace(s), u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 1 || n > (1<<62)/u.factor {
			break
		}
		return size(n * u.factor), nil
	}
	return nil, fmt.Errorf("%q is not a number of bytes such as 65536, 256MB or 4GB", s)
}

// rules says which targets links may have. Until a public address is set, those on
// the one that visitors come to are this server's own.
func rules(cfg config, visitors net.Listener) snip.Rules {
	r := snip.Rules{Schemes: cfg.Schemes}
	if u, err := url.Parse(cfg.BaseURL); err == nil && u.Host != "" {
		r.Own = append(r.Own, u.Host)
	}
	if visitors == nil {
		return r
	}
	addr := visitors.Addr().String()
	r.Own = append(r.Own, addr)
	if _, port, err := net.SplitHostPort(addr); err == nil && loopback(addr) {
		r.Own = append(r.Own, net.JoinHostPort("localhost", port))
	}
	return r
}

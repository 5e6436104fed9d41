package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"snip"
	"snip/wire"
)

// Stats returns what was counted for links. The zone of the range must come from
// time.LoadLocation, for the server has nothing of it but its name.
func (c *Client) Stats(ctx context.Context, q snip.StatsQuery) (snip.Stats, error) {
	p := rangeParameters(q.Range)
	p["code"] = q.Codes
	if q.Domain != nil {
		p.Set("domain", *q.Domain)
	}
	if q.Tag != "" {
		p.Set("tag", q.Tag)
	}
	p.Set("step", q.Step.String())
	p.Set("top", strconv.Itoa(q.Top))
	raw, err := c.StatsJSON(ctx, p)
	if err != nil {
		return snip.Stats{}, err
	}
	return read(raw, wire.Stats.Stats)
}

// Popular returns the links that people followed most. See Stats for the zone.
func (c *Client) Popular(ctx context.Context, r snip.Range, limit int) (snip.Popular, error) {
	p := rangeParameters(r)
	p.Set("limit", strconv.Itoa(limit))
	raw, err := c.PopularJSON(ctx, p)
	if err != nil {
		return snip.Popular{}, err
	}
	return read(raw, wire.Popular.Popular)
}

// UnknownCodes returns the codes without a link that were asked for most. See Stats
// for the zone.
func (c *Client) UnknownCodes(ctx context.Context, r snip.Range, limit int) (snip.UnknownCodes, error) {
	p := rangeParameters(r)
	p.Set("limit", strconv.Itoa(limit))
	raw, err := c.ask(ctx, "/api/v1/stats/unknown-codes", p)
	if err != nil {
		return snip.UnknownCodes{}, err
	}
	return read(raw, wire.UnknownCodes.UnknownCodes)
}

// StatsJSON returns the API's own answer, a wire.Stats. The parameters are code,
// domain, tag, from, to, zone, step and top, as the API spells them; the server
// chooses what is left out.
func (c *Client) StatsJSON(ctx context.Context, parameters url.Values) (json.RawMessage, error) {
	return c.ask(ctx, "/api/v1/stats", parameters)
}

// PopularJSON returns the API's own answer, a wire.Popular. The parameters are from,
// to, zone and limit; the server chooses what is left out.
func (c *Client) PopularJSON(ctx context.Context, parameters url.Values) (json.RawMessage, error) {
	return c.ask(ctx, "/api/v1/stats/links", parameters)
}

func (c *Client) ask(ctx context.Context, path string, parameters url.Values) (raw json.RawMessage, err error) {
	err = c.get(ctx, path, parameters, &raw)
	return raw, err
}

// read returns what an answer holds.
func read[W, D any](raw json.RawMessage, domain func(W) (D, error)) (d D, err error) {
	var answer W
	if err = json.Unmarshal(raw, &answer); err == nil {
		d, err = domain(answer)
	}
	if err != nil {
		return d, fmt.Errorf("client: answer of the server: %w", err)
	}
	return d, nil
}

func rangeParameters(r snip.Range) url.Values {
	return url.Values{"from": {r.From.String()}, "to": {r.To.String()}, "zone": {r.Location().String()}}
}

package main

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/rueidis"
)

func openRedis(url string) (rueidis.Client, error) {
	options, err := rueidis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	options.DisableCache = true // Nobody reads.
	return rueidis.NewClient(options)
}

func redisVersion(ctx context.Context, b *bench) (string, error) {
	url, err := b.startRedis()
	if err != nil {
		return "", err
	}
	client, err := openRedis(url)
	if err != nil {
		return "", err
	}
	defer client.Close()
	info, err := client.Do(ctx, client.B().Info().Section("server").Build()).ToString()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(info) {
		if version, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(version), nil
		}
	}
	return "", errors.New("the server does not tell it")
}

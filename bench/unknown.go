package main

import "context"

// unknownCodes are as many as somebody tries who looks for links.
const unknownCodes = 100_000

// unknown measures the memory of the program after so many codes that it never gave
// out, beside what it was after as many redirects.
func unknown(ctx context.Context, b *bench) ([]row, error) {
	r := row{
		what: "memory after 100,000 distinct unknown codes", reference: "after 100,000 redirects of a link",
		unit: "MB", bar: ratioAtMost(1.1),
	}
	for range b.rounds {
		before, after, err := b.unknownOnce(ctx)
		if err != nil {
			return nil, err
		}
		r.against, r.measured = append(r.against, before), append(r.measured, after)
		if err := b.cleanUp(); err != nil {
			return nil, err
		}
	}
	return []row{r}, nil
}

func (b *bench) unknownOnce(ctx context.Context) (before, after float64, err error) {
	at, err := b.newPlace(ctx, false)
	if err != nil {
		return 0, 0, err
	}
	s, err := b.startSnip(ctx, at)
	if err != nil {
		return 0, 0, err
	}
	if before, err = s.memoryAfter(ctx, load{address: s.address, path: onePath("/bench")}); err != nil {
		return 0, 0, err
	}
	after, err = s.memoryAfter(ctx, load{address: s.address, status: "404", path: nextPath("/unknown-")})
	return before, after, err
}

// memoryAfter is that of the instance when it has answered so many and is quiet, in MB.
func (s *instance) memoryAfter(ctx context.Context, l load) (float64, error) {
	if err := l.times(ctx, unknownCodes); err != nil {
		return 0, err
	}
	if err := quiet(s.processes...); err != nil {
		return 0, err
	}
	bytes, err := s.memory()
	return float64(bytes) / 1e6, err
}

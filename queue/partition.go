package queue

import (
	"hash/fnv"
	"math/rand/v2"
)

// PartitionOf picks the partition of a message by its key: always the same one for
// the same key and number of partitions, any one for an empty key. There must be at
// least one partition.
func PartitionOf(key string, partitions int) int {
	if key == "" {
		return rand.IntN(partitions)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // Never fails.
	return int(h.Sum64() % uint64(partitions))
}

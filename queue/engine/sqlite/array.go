package sqlite

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// SQLite has no arrays: a list is passed as JSON, for json_each.

// asJSON writes what JSON can hold. Blobs go as hexadecimal digits.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqlite engine: %T as JSON: %v", v, err)) // Strings and integers alone are passed.
	}
	return string(b)
}

// numbersJSON is asJSON for numbers, of which there are many.
func numbersJSON(numbers []int64) string {
	b := append(make([]byte, 0, 2+len(numbers)*8), '[')
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

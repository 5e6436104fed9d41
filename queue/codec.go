package queue

import "encoding/json"

// Codec turns payloads into bodies and back. Its methods are called concurrently.
type Codec interface {
	Encode(payload any) ([]byte, error)
	Decode(body []byte, payload any) error // Payload is a pointer.
}

// JSON is the codec of package encoding/json.
type JSON struct{}

// Encode returns the payload as JSON.
func (JSON) Encode(payload any) ([]byte, error) { return json.Marshal(payload) }

// Decode reads JSON into what payload points to.
func (JSON) Decode(body []byte, payload any) error { return json.Unmarshal(body, payload) }

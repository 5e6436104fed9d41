package visitor

import "time"

// Database is a country database that can be used.
type Database struct {
	Type  string    // Such as GeoLite2-Country.
	Built time.Time // When it was made.
}

// ReadDatabase reads a database whole, as a Reader does before it takes it.
func ReadDatabase(name string) (Database, error) {
	db, _, err := load(name)
	if err != nil {
		return Database{}, err
	}
	return Database{Type: db.Metadata.DatabaseType, Built: db.Metadata.BuildTime().UTC()}, nil
}

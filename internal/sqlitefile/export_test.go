package sqlitefile

// Waiting is how many writes the writer has not looked at.
func (f *File) Waiting() int { return len(f.writes) }

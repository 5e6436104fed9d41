package sqlitefile

// Waiting is how many writes the writer has not looked at.
func (f *File) Waiting() int { return len(f.writes) }

// Alone reports whether nobody else has the file open, as far as the writer knows.
func (f *File) Alone() bool { return f.present.alone() }

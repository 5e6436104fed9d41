package sqlite

// OpenIn opens the file in a boot of the host, which has a name.
var OpenIn = openIn

// ReadyQuery is what pulls look for tasks with.
var ReadyQuery = readyQuery

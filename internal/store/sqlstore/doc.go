// Package sqlstore is the store of the control plane on SQLite and on PostgreSQL: one implementation of [store.Store] for
// both.
//
// Every statement is written once, in the subset that both databases read; a dialect turns the few marks in it into what
// one of them wants, and an engine runs it: database/sql with one writing connection for SQLite, a pgx pool with pipelines
// for PostgreSQL. There is no rule in here: rows go in and come out, the state machine is package lifecycle.
//
//	st, err := sqlstore.Open(ctx, "/var/lib/phonebooth/phonebooth.db", sqlstore.Options{})
//	st, err := sqlstore.Open(ctx, "postgres://phonebooth@db/phonebooth", sqlstore.Options{})
//
// Times are kept as microseconds since 1970, zero for none, and come back in UTC. A Store may be used by any number of
// goroutines. Writers of a SQLite file take turns inside the Store, so only one process may have it open.
package sqlstore

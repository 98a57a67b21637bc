package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/phonebooth-dev/phonebooth/internal/store"
)

// Announce tells the replicas that there is something new: see [store.Store].
func (s *Store) Announce(ctx context.Context, from string) error { return s.engine.announce(ctx, from) }

// Listen hears what replicas announce: see [store.Store].
func (s *Store) Listen(ctx context.Context, heard func(from string)) error {
	return s.engine.listen(ctx, heard)
}

func (s *sqlite) announce(context.Context, string) error { return nil }

func (s *sqlite) listen(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return ctx.Err()
}

// channel is where the replicas of one schema talk.
const channel = "'phonebooth_' || md5(current_schema())"

// announce is a statement of its own, outside every transaction that writes: those would take turns for it.
func (p *postgres) announce(ctx context.Context, from string) error {
	return p.read(ctx, step{text: "SELECT pg_notify(" + channel + ", $1)", args: []any{from}, row: ignore})
}

// silence is how long nothing is heard before the listener proves that it hears, and how long that may take.
const silence = 5 * time.Second

// toSelf is what a listener says to prove that it hears. It hears that of the others too, which proves as much.
const toSelf = "is anybody there"

// errDeaf is for a connection on which nothing is heard, not even its own words: a pooler between us and the database that
// gives each statement another connection makes it so.
var errDeaf = errors.New("announcements do not arrive on this connection; does a connection pooler stand before the database?")

// listen has a connection of its own. It speaks to itself when nobody else does.
func (p *postgres) listen(ctx context.Context, heard func(from string)) error {
	pooled, err := p.acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack()
	defer conn.Close(context.WithoutCancel(ctx))
	r := postgresRunner{conn: conn, dialect: p.dialect}
	var name string
	if err := r.run(ctx, step{text: "SELECT " + channel, row: func(read scanner) error { return read(text(&name)) }}); err != nil {
		return err
	}
	if err := r.run(ctx, step{text: `LISTEN "` + name + `"`}); err != nil {
		return err
	}
	heard("")
	waits := false
	for {
		waiting, stop := context.WithTimeout(ctx, silence)
		n, err := conn.WaitForNotification(waiting)
		quiet := waiting.Err() != nil
		stop()
		switch {
		case err == nil:
			waits = false
			if n.Payload != toSelf {
				heard(n.Payload)
			}
		case ctx.Err() != nil:
			return ctx.Err()
		case !quiet:
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		case waits:
			return errDeaf
		default:
			waits = true
			asking, stop := context.WithTimeout(ctx, silence)
			err := r.run(asking, step{text: "SELECT pg_notify(" + channel + ", $1)", args: []any{toSelf}, row: ignore})
			stop()
			if err != nil {
				return err
			}
		}
	}
}

package sqlstore

import (
	"context"

	"github.com/phonebooth-dev/phonebooth"
	"github.com/phonebooth-dev/phonebooth/internal/store"
)

var (
	selectHosts        = "SELECT " + hostTable.list + " FROM hosts h"
	selectDevices      = "SELECT " + deviceTable.list + " FROM devices d"
	selectReservations = "SELECT " + reservationTable.list + " FROM reservations r"
	selectWorkflows    = "SELECT " + workflowTable.list + " FROM workflows w"
	newestWorkflows    = selectWorkflows + " WHERE w.version = (SELECT MAX(v.version) FROM workflows v WHERE v.name = w.name)"
)

func scanHost(read scanner) (phonebooth.Host, error) { return hostTable.scan(read, nil) }

func scanDevice(read scanner) (phonebooth.Device, error) { return deviceTable.scan(read, nil) }

func scanReservation(read scanner) (phonebooth.Reservation, error) {
	return reservationTable.scan(read, nil)
}

func scanWorkflow(read scanner) (phonebooth.Workflow, error) { return workflowTable.scan(read, nil) }

// Host is one host, also a removed one.
func (s *Store) Host(ctx context.Context, id phonebooth.HostID) (phonebooth.Host, error) {
	return one(ctx, s.engine, scanHost, selectHosts+" WHERE h.id = $1", string(id))
}

// Hosts lists all hosts, also removed ones, in the order in which they came.
func (s *Store) Hosts(ctx context.Context) ([]phonebooth.Host, error) {
	return all(ctx, s.engine, scanHost, selectHosts+" ORDER BY h.registered_at, h.id")
}

// HostOfToken finds a host by the hash of its agent's secret; one that is in the pool before a removed one.
func (s *Store) HostOfToken(ctx context.Context, tokenHash string) (phonebooth.Host, error) {
	return one(ctx, s.engine, scanHost,
		selectHosts+" WHERE h.token_hash = $1 AND h.token_hash <> '' ORDER BY h.removed_at LIMIT 1", tokenHash)
}

// Device is one device.
func (s *Store) Device(ctx context.Context, id phonebooth.DeviceID) (phonebooth.Device, error) {
	return one(ctx, s.engine, scanDevice, selectDevices+" WHERE d.id = $1", string(id))
}

// Devices lists all devices in the order in which they came.
func (s *Store) Devices(ctx context.Context) ([]phonebooth.Device, error) {
	return all(ctx, s.engine, scanDevice, selectDevices+" ORDER BY d.registered_at, d.id")
}

// Reservations lists all reservations, the oldest first.
func (s *Store) Reservations(ctx context.Context) ([]phonebooth.Reservation, error) {
	return all(ctx, s.engine, scanReservation, selectReservations+" ORDER BY r.since, r.device_id")
}

// Workflow is one version of a workflow; version 0 is the newest.
func (s *Store) Workflow(ctx context.Context, name string, version int) (phonebooth.Workflow, error) {
	if version == 0 {
		return one(ctx, s.engine, scanWorkflow, selectWorkflows+" WHERE w.name = $1 ORDER BY w.version DESC LIMIT 1", name)
	}
	return one(ctx, s.engine, scanWorkflow, selectWorkflows+" WHERE w.name = $1 AND w.version = $2", name, int64(version))
}

// Workflows lists the newest version of each workflow, by name.
func (s *Store) Workflows(ctx context.Context) ([]phonebooth.Workflow, error) {
	return all(ctx, s.engine, scanWorkflow, newestWorkflows+" ORDER BY w.name")
}

// PutToken keeps a token. The same hash again changes nothing.
func (s *Store) PutToken(ctx context.Context, token store.Token) error {
	put := tokenTable.inserting(token)
	put.text, put.one = put.text+" ON CONFLICT (hash) DO NOTHING", false
	return s.engine.write(ctx, func(r runner) error { return r.run(ctx, put) })
}

func scanToken(read scanner) (store.Token, error) { return tokenTable.scan(read, nil) }

var selectTokens = "SELECT " + tokenTable.list + " FROM tokens k WHERE k.hash = $1"

// Token finds a token by its hash.
func (s *Store) Token(ctx context.Context, hash string) (store.Token, error) {
	return one(ctx, s.engine, scanToken, selectTokens, hash)
}

// SpendToken binds a one-time token to a host. It says [store.ErrNotFound] for an unknown token and [store.ErrConstraint]
// for one that another host has used.
func (s *Store) SpendToken(ctx context.Context, hash string, host phonebooth.HostID) error {
	return s.engine.write(ctx, func(r runner) error {
		var found []store.Token
		if err := r.run(ctx, every(&found, scanToken, selectTokens+" FOR UPDATE", hash)); err != nil {
			return err
		}
		switch {
		case len(found) == 0:
			return store.ErrNotFound
		case found[0].SpentBy == host:
			return nil
		case found[0].SpentBy != "":
			return store.ErrConstraint
		}
		found[0].SpentBy = host
		return r.run(ctx, tokenTable.updating(found[0]))
	})
}

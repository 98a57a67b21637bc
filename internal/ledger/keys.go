package ledger

import "github.com/phonebooth-dev/phonebooth/internal/store"

// mergeKeys is every row that a batch needs, once each.
func mergeKeys(batch []*entry) store.Keys {
	if len(batch) == 1 {
		return batch[0].keys
	}
	var m store.Keys
	for _, e := range batch {
		k := e.keys
		m.Hosts = append(m.Hosts, k.Hosts...)
		m.HostDevices = append(m.HostDevices, k.HostDevices...)
		m.HostAttempts = append(m.HostAttempts, k.HostAttempts...)
		m.Devices = append(m.Devices, k.Devices...)
		m.Tasks = append(m.Tasks, k.Tasks...)
		m.Attempts = append(m.Attempts, k.Attempts...)
		m.Idempotency = append(m.Idempotency, k.Idempotency...)
		m.Claims = append(m.Claims, k.Claims...)
		m.Workflows = append(m.Workflows, k.Workflows...)
		m.Leader = m.Leader || k.Leader
	}
	m.Hosts = once(m.Hosts)
	m.HostDevices = once(m.HostDevices)
	m.HostAttempts = once(m.HostAttempts)
	m.Devices = once(m.Devices)
	m.Tasks = once(m.Tasks)
	m.Attempts = once(m.Attempts)
	m.Idempotency = once(m.Idempotency)
	m.Claims = once(m.Claims)
	m.Workflows = once(m.Workflows)
	return m
}

// once removes repeats and keeps the order.
func once[K comparable](keys []K) []K {
	seen := make(map[K]bool, len(keys))
	kept := keys[:0]
	for _, k := range keys {
		if !seen[k] {
			seen[k] = true
			kept = append(kept, k)
		}
	}
	return kept
}

package ledger

// Pending is how many verbs wait for a batch.
func Pending(l *Ledger) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pending) + len(l.heavy)
}

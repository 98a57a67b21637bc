package agent

// SetRoom replaces the look at the disk; before Run.
func (a *Agent) SetRoom(room func(thorough bool) error) { a.room = room }

// LockDevice takes a device's lock as another process would.
func LockDevice(dir, key string) (release func() error, err error) {
	lock, err := lockDevice(dir, key)
	if err != nil {
		return nil, err
	}
	return lock.release, nil
}

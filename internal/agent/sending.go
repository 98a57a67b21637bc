package agent

import (
	"context"
	"time"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
)

// sending is what is sent of an attempt beside its report: as it grows, after the attempt's end, and by the next life of the
// agent. A nil one has nothing to send.
type sending struct {
	log, device, events *upload
	artifacts           *courier
}

// startSending starts to send what is, or will be, in the directory of l.
func (a *Agent) startSending(life context.Context, l *lease) *sending {
	return &sending{
		log:       a.startUpload(life, l, v1.LogRunner, logPath(l.dir)),
		device:    a.startUpload(life, l, v1.LogDevice, devicePath(l.dir)),
		events:    a.startUpload(life, l, v1.LogEvents, eventsPath(l.dir)),
		artifacts: a.startCourier(life, l),
	}
}

// finish says that there will be no more.
func (s *sending) finish() {
	s.log.finish()
	s.device.finish()
	s.events.finish()
	s.artifacts.finish()
}

// follow lists the logs that are not up yet when a report is sent: the control plane is told of their end.
func (s *sending) follow() (names []string) {
	if s == nil {
		return nil
	}
	for _, u := range []*upload{s.log, s.device, s.events} {
		if u.follows() {
			names = append(names, u.name)
		}
	}
	return names
}

// coming is how many artifacts there will be, when some are not up as a report is sent, or else 0.
func (s *sending) coming() int {
	if s == nil {
		return 0
	}
	return s.artifacts.follow()
}

// await waits until everything is up or given up, for d at most or until ctx ends.
func (s *sending) await(ctx context.Context, d time.Duration) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for _, done := range []<-chan struct{}{s.log.done, s.device.done, s.events.done, s.artifacts.done} {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

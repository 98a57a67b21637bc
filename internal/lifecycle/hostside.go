package lifecycle

import "time"

// Belief is what an agent may believe of one lease, in its own steady time. The agent's clock may run up to [RateSpread]
// faster or slower than the store's; the policy's numbers cover the slow case, so the agent adds no margin of its own.
type Belief struct {
	Fence time.Duration // steady time at which driving must stop
}

// BelieveClaim is the belief after a claim: sent is when the request left, parked how long the control plane says that it
// had kept the request at the store time for which fence was left, never longer. The answer cannot have been made earlier than
// sent + parked/1.2 on this clock, whenever it was received; counting from its receipt would trust the network.
func BelieveClaim(sent, parked, fence time.Duration) Belief {
	made := sent + time.Duration(float64(parked)/RateSpread)
	return Belief{Fence: made + fence}
}

// Renewed is the belief after a renewal that was sent at sent and left fence. An answer that arrives out of order never
// shortens what a later one gave.
func (b Belief) Renewed(sent, fence time.Duration) Belief {
	return Belief{Fence: max(b.Fence, sent+fence)}
}

// MayDrive reports whether something may still be done to the device.
func (b Belief) MayDrive(now time.Duration) bool { return now < b.Fence }

// Hands is what an agent still has on a device.
type Hands struct {
	Lease    bool // a lease that has not been reported
	Process  bool // a runner, or one of its descendants, alive
	Gate     bool // a gate not cut
	Cleaning bool
}

// MaySayReady reports whether the agent may call the device ready: only when nothing of any lease is left on it.
func (h Hands) MaySayReady() bool { return h == Hands{} }

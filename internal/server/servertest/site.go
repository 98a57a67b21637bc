package servertest

// URL is where the control plane is reached, by browsers too.
func (s *System) URL() string { return "http://" + s.listen }

// Token is the admin token.
func (s *System) Token() string { return s.token }

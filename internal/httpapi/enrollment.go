package httpapi

import (
	"context"
	"net/http"

	v1 "github.com/phonebooth-dev/phonebooth/api/v1"
	"github.com/phonebooth-dev/phonebooth/internal/auth"
	"github.com/phonebooth-dev/phonebooth/internal/control"
)

func (s *Server) registerEnrollment() {
	add(s, call{
		method: http.MethodPost, path: v1.PathEnrollment, id: "make-enrollment", tag: "pool", access: onlyAdmin, status: http.StatusCreated,
		summary: "Make an enrollment token", description: "With it one machine becomes a host, within an hour. It is shown only here.",
	}, s.makeEnrollment)
	add(s, call{
		method: http.MethodPost, path: v1.PathAgentEnroll, id: "enroll-host", tag: "agent", lenient: true,
		summary: "Become a host",
		description: "Spends an enrollment token. The agent draws its own secret, which is its bearer token from now on; only its hash is " +
			"kept. The same token with the same secret again is the same host.",
		codes: []string{"unauthenticated", "store_unavailable", "outcome_unknown"},
	}, s.enroll)
}

type enrollmentInput struct{ Body v1.EnrollmentRequest }

type enrollmentOutput struct{ Body v1.Enrollment }

func (s *Server) makeEnrollment(ctx context.Context, in *enrollmentInput) (*enrollmentOutput, error) {
	token, expires, err := s.tokens.Enrollment(ctx, in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &enrollmentOutput{Body: v1.Enrollment{Token: token, ExpiresAt: expires.UTC()}}, nil
}

type enrollInput struct{ Body v1.EnrollRequest }

type enrollOutput struct{ Body v1.EnrollAnswer }

func (s *Server) enroll(ctx context.Context, in *enrollInput) (*enrollOutput, error) {
	by := control.Caller{
		Actor: auth.Identity{Kind: auth.Host, Name: in.Body.Name}.Actor(), RequestID: requestOf(ctx).id,
	}
	id, err := s.control.Enroll(ctx, by, auth.Hash(in.Body.Token), auth.Hash(in.Body.Secret), in.Body.Name)
	if err != nil {
		return nil, err
	}
	return &enrollOutput{Body: v1.EnrollAnswer{HostID: string(id)}}, nil
}

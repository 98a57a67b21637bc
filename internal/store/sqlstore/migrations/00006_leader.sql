-- Which replica schedules and sweeps: a row of its own, so that its renewals keep nobody from the head.

-- +goose Up
CREATE TABLE leader (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    holder TEXT NOT NULL,
    term   BIGINT NOT NULL,
    until  BIGINT NOT NULL
);
INSERT INTO leader (id, holder, term, until) VALUES (1, '', 0, 0);
ALTER TABLE head DROP COLUMN term;

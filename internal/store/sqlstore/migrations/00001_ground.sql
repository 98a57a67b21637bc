-- One text for SQLite and PostgreSQL. Times and durations are microseconds, a time of 0 is none, lists and maps are JSON
-- in text, and nothing is NULL.

-- +goose Up
CREATE TABLE head (
    id     BIGINT PRIMARY KEY CHECK (id = 1),
    queued BIGINT NOT NULL,
    pos    BIGINT NOT NULL,
    now    BIGINT NOT NULL,
    term   BIGINT NOT NULL
);
INSERT INTO head (id, queued, pos, now, term) VALUES (1, 0, 0, 0, 0);

CREATE TABLE hosts (
    id               TEXT PRIMARY KEY,
    name             TEXT NOT NULL,
    token_hash       TEXT NOT NULL,
    incarnation      BIGINT NOT NULL,
    start_id         TEXT NOT NULL,
    version          TEXT NOT NULL,
    draining_since   BIGINT NOT NULL,
    silent_since     BIGINT NOT NULL,
    deaf_since       BIGINT NOT NULL,
    deaf_reason      TEXT NOT NULL,
    word_incarnation BIGINT NOT NULL,
    word_seq         BIGINT NOT NULL,
    heard_at         BIGINT NOT NULL,
    polled_at        BIGINT NOT NULL,
    registered_at    BIGINT NOT NULL,
    removed_at       BIGINT NOT NULL,
    rev              BIGINT NOT NULL
);
CREATE UNIQUE INDEX hosts_token ON hosts (token_hash) WHERE token_hash <> '' AND removed_at = 0;

CREATE TABLE devices (
    id               TEXT PRIMARY KEY,
    host_id          TEXT NOT NULL REFERENCES hosts (id),
    device_key       TEXT NOT NULL,
    name             TEXT NOT NULL,
    driver_type      TEXT NOT NULL,
    tags             TEXT NOT NULL,
    runners          TEXT NOT NULL,
    fence            TEXT NOT NULL,
    attributes       TEXT NOT NULL,
    condition        TEXT NOT NULL,
    condition_reason TEXT NOT NULL,
    condition_since  BIGINT NOT NULL,
    word_incarnation BIGINT NOT NULL,
    word_seq         BIGINT NOT NULL,
    confirm          BIGINT NOT NULL,
    hold             TEXT NOT NULL,
    hold_reason      TEXT NOT NULL,
    hold_since       BIGINT NOT NULL,
    streak           BIGINT NOT NULL,
    registered_at    BIGINT NOT NULL,
    rev              BIGINT NOT NULL
);
CREATE INDEX devices_host ON devices (host_id);

CREATE TABLE tasks (
    id                  TEXT PRIMARY KEY,
    seq                 BIGINT NOT NULL,
    subject             TEXT NOT NULL,
    idempotency_key     TEXT NOT NULL,
    body_hash           TEXT NOT NULL,
    goal                TEXT NOT NULL,
    workflow            TEXT NOT NULL,
    workflow_version    BIGINT NOT NULL,
    inputs              TEXT NOT NULL,
    driver_type         TEXT NOT NULL,
    tags                TEXT NOT NULL,
    runner              TEXT NOT NULL,
    want_device_id      TEXT NOT NULL,
    want_host_id        TEXT NOT NULL,
    priority            BIGINT NOT NULL,
    timeout             BIGINT NOT NULL,
    queue_timeout       BIGINT NOT NULL,
    max_attempts        BIGINT NOT NULL,
    labels              TEXT NOT NULL,
    created_at          BIGINT NOT NULL,
    queue_deadline      BIGINT NOT NULL,
    rev                 BIGINT NOT NULL,
    status              TEXT NOT NULL,
    attempt             BIGINT NOT NULL,
    device_id           TEXT NOT NULL,
    host_id             TEXT NOT NULL,
    cancel_requested_at BIGINT NOT NULL,
    failure_code        TEXT NOT NULL,
    failure_message     TEXT NOT NULL,
    result              TEXT NOT NULL,
    assigned_at         BIGINT NOT NULL,
    dispatched_at       BIGINT NOT NULL,
    finished_at         BIGINT NOT NULL
);
CREATE UNIQUE INDEX tasks_seq ON tasks (seq);
CREATE UNIQUE INDEX tasks_idempotency ON tasks (subject, idempotency_key) WHERE idempotency_key <> '';
-- No index covers the status of every task: it changes too often. These cover the few rows that are asked for by it.
CREATE INDEX tasks_queued ON tasks (seq) WHERE status = 'queued';
CREATE INDEX tasks_queue_deadline ON tasks (queue_deadline) WHERE status = 'queued' AND queue_deadline > 0;
CREATE INDEX tasks_finished ON tasks (finished_at) WHERE finished_at > 0;

CREATE TABLE attempts (
    task_id        TEXT NOT NULL REFERENCES tasks (id),
    number         BIGINT NOT NULL,
    lease_id       TEXT NOT NULL,
    host_id        TEXT NOT NULL,
    device_id      TEXT NOT NULL,
    assigned_at    BIGINT NOT NULL,
    state          TEXT NOT NULL,
    claim_id       TEXT NOT NULL,
    incarnation    BIGINT NOT NULL,
    dispatched_at  BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    ended_at       BIGINT NOT NULL,
    ending         TEXT NOT NULL,
    reason_code    TEXT NOT NULL,
    reason_message TEXT NOT NULL,
    reported       TEXT NOT NULL,
    evidence       TEXT NOT NULL,
    PRIMARY KEY (task_id, number)
);
CREATE UNIQUE INDEX attempts_lease ON attempts (lease_id);
CREATE UNIQUE INDEX attempts_one_live ON attempts (task_id) WHERE state <> 'ended';
CREATE INDEX attempts_live_host ON attempts (host_id) WHERE state <> 'ended';
CREATE INDEX attempts_live_expiry ON attempts (expires_at) WHERE state <> 'ended';
CREATE INDEX attempts_claim ON attempts (host_id, claim_id) WHERE claim_id <> '';

CREATE TABLE reservations (
    device_id TEXT PRIMARY KEY REFERENCES devices (id),
    task_id   TEXT NOT NULL,
    number    BIGINT NOT NULL,
    since     BIGINT NOT NULL,
    FOREIGN KEY (task_id, number) REFERENCES attempts (task_id, number)
);
CREATE UNIQUE INDEX reservations_attempt ON reservations (task_id, number);

CREATE TABLE workflows (
    name       TEXT NOT NULL,
    version    BIGINT NOT NULL,
    source     TEXT NOT NULL,
    hash       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (name, version)
);

CREATE TABLE events (
    pos        BIGINT PRIMARY KEY,
    at         BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    task_id    TEXT NOT NULL,
    attempt    BIGINT NOT NULL,
    device_id  TEXT NOT NULL,
    host_id    TEXT NOT NULL,
    actor      TEXT NOT NULL,
    request_id TEXT NOT NULL,
    detail     TEXT NOT NULL
);
CREATE INDEX events_task ON events (task_id, pos) WHERE task_id <> '';
CREATE INDEX events_device ON events (device_id, pos) WHERE device_id <> '';

CREATE TABLE tokens (
    hash       TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    name       TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    spent_by   TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

-- What happened on a device, and to it and its host, in a span of time. Rows of these never change in the columns that are
-- indexed, and a device's attempts never overlap, so their beginnings order them.

-- +goose Up
CREATE INDEX attempts_device ON attempts (device_id, assigned_at);
CREATE INDEX events_condition ON events (device_id, at, pos) WHERE kind IN ('device.registered', 'device.changed');
CREATE INDEX events_hold ON events (device_id, at, pos) WHERE kind IN ('device.held', 'device.unheld');
CREATE INDEX events_silence ON events (host_id, at, pos) WHERE kind IN ('host.silent', 'host.heard');
CREATE INDEX events_drain ON events (host_id, at, pos) WHERE kind IN ('host.draining', 'host.resumed');

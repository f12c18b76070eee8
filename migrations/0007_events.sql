-- How many events an instance has had. Its row is taken last in a transaction, so that the numbers of an
-- instance have neither gaps nor another order than the commits.
CREATE TABLE event_heads (
  instance_id TEXT NOT NULL PRIMARY KEY REFERENCES instances (id) ON DELETE CASCADE,
  last_seq BIGINT NOT NULL
);

-- What happened, written in the transaction that made it happen. `subject_id` is what receivers see in
-- order: the user, for everything that belongs to one. `data_sealed` stands in place of `data` where that
-- would tell a one-time code.
ALTER TABLE events RENAME TO events_without_numbers;
CREATE TABLE events (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  seq BIGINT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  data TEXT NOT NULL,
  data_sealed BYTEA,
  client_ip TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT uq__events__instance_id__seq PRIMARY KEY (instance_id, seq)
);
INSERT INTO events (instance_id, seq, id, kind, subject_id, data, client_ip, user_agent, created_at)
SELECT instance_id, row_number() OVER (PARTITION BY instance_id ORDER BY created_at, id), id, kind, subject_id, data,
client_ip, user_agent, created_at FROM events_without_numbers;
INSERT INTO event_heads (instance_id, last_seq) SELECT instance_id, max(seq) FROM events GROUP BY instance_id;
DROP TABLE events_without_numbers;

-- Instances that manage their webhooks.
CREATE TABLE webhook_apps (
  instance_id TEXT NOT NULL PRIMARY KEY REFERENCES instances (id) ON DELETE CASCADE,
  created_at BIGINT NOT NULL
);

-- Where events are sent. `cursor_seq` is the last event that was sent or queued; one worker at a time has
-- the lease. `kinds` is a JSON list of the event kinds wanted, empty for all.
CREATE TABLE webhook_endpoints (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  kinds TEXT NOT NULL,
  secrets_sealed BYTEA NOT NULL,
  disabled BOOLEAN NOT NULL,
  cursor_seq BIGINT NOT NULL,
  failing_since BIGINT,
  leased_by TEXT NOT NULL,
  leased_until BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);

-- What became of an event at an endpoint: `pending`, `succeeded` or `failed`. `log` is a JSON list of its
-- attempts, oldest first.
CREATE TABLE webhook_deliveries (
  instance_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL,
  seq BIGINT NOT NULL,
  event_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  next_at BIGINT,
  log TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, endpoint_id, seq),
  FOREIGN KEY (instance_id, endpoint_id) REFERENCES webhook_endpoints (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__webhook_deliveries__due ON webhook_deliveries (instance_id, endpoint_id, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX ix__webhook_deliveries__subject ON webhook_deliveries (instance_id, endpoint_id, subject_id, seq) WHERE next_at IS NOT NULL;
CREATE INDEX ix__webhook_deliveries__event ON webhook_deliveries (instance_id, endpoint_id, event_id);
CREATE INDEX ix__webhook_deliveries__done ON webhook_deliveries (instance_id, created_at) WHERE next_at IS NULL;

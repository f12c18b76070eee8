-- What happened, written in the transaction that made it happen. Keyed by time first: ids of one second
-- are in no order, and new rows would be spread over many pages of the key's index.
CREATE TABLE events (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  data TEXT NOT NULL,
  client_ip TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, created_at, id)
);

-- E-mails and text messages to people, waiting to be sent. The code, where there is one, is sealed.
CREATE TABLE messages (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  user_id TEXT,
  channel TEXT NOT NULL,
  recipient TEXT NOT NULL,
  slug TEXT NOT NULL,
  content_sealed BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);
CREATE INDEX ix__messages__created_at ON messages (instance_id, created_at, id);

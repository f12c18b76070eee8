-- Hosts of the Frontend API of satellite domains. Derived from the settings of their instance and saved with
-- them: they tell the tenant of a browser's request, so that no two instances have the same.
CREATE TABLE satellite_hosts (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  host TEXT NOT NULL,
  PRIMARY KEY (instance_id, host),
  CONSTRAINT uq__satellite_hosts__host UNIQUE (host)
);

-- Browsers on their way from the primary domain to a satellite. A token is good once, for the satellite and
-- the browser it was made for; a used one stays until its time is over, to be told from an unknown one.
CREATE TABLE syncs (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  token_digest BYTEA NOT NULL,
  satellite TEXT NOT NULL,
  state_digest BYTEA NOT NULL,
  client_id TEXT,
  redirect_url TEXT NOT NULL,
  expire_at BIGINT NOT NULL,
  is_used BOOLEAN NOT NULL,
  PRIMARY KEY (instance_id, token_digest)
);
CREATE INDEX ix__syncs__expire_at ON syncs (expire_at);

-- An instance is one tenant. Everything else is keyed by its id first.
CREATE TABLE instances (
  id TEXT NOT NULL PRIMARY KEY,
  environment TEXT NOT NULL,
  frontend_api TEXT NOT NULL,
  settings TEXT NOT NULL,
  settings_revision BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT uq__instances__frontend_api UNIQUE (frontend_api)
);

-- Secret keys are looked up by their digest; the key itself is shown once and not kept.
CREATE TABLE secret_keys (
  digest BYTEA NOT NULL PRIMARY KEY,
  id TEXT NOT NULL,
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  hint TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE INDEX ix__secret_keys__instance_id ON secret_keys (instance_id, created_at);

-- Keys that sign tokens. The private half is sealed with the master key. Of those whose time has come the
-- newest signs; one is published from the start until `not_after`.
CREATE TABLE signing_keys (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  kid TEXT NOT NULL,
  public_jwk TEXT NOT NULL,
  private_sealed BYTEA NOT NULL,
  active_from BIGINT NOT NULL,
  not_after BIGINT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, kid)
);

-- The public keys of passkeys, found by the id that their authenticator gave them. What is shown of a passkey stands in
-- the document of its user.
CREATE TABLE passkeys (
  instance_id TEXT NOT NULL,
  credential_id BYTEA NOT NULL,
  counter BIGINT NOT NULL,
  backup_eligible BOOLEAN NOT NULL,
  backed_up BOOLEAN NOT NULL,
  updated_at BIGINT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  rp_id TEXT NOT NULL,
  credential TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, credential_id),
  CONSTRAINT uq__passkeys__instance_id__id UNIQUE (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__passkeys__user_id ON passkeys (instance_id, user_id);

-- Registrations of passkeys under way: good once, for the user and the client that began them.
CREATE TABLE passkey_registrations (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  user_id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  rp_id TEXT NOT NULL,
  name TEXT NOT NULL,
  options TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__passkey_registrations__user_id ON passkey_registrations (instance_id, user_id);
CREATE INDEX ix__passkey_registrations__expire_at ON passkey_registrations (instance_id, expire_at);

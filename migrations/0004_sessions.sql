-- A client is a browser or a device. `token_digest` is what proves it; `seen_at` tells which may go.
CREATE TABLE clients (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  token_digest BYTEA NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);
CREATE INDEX ix__clients__created_at ON clients (instance_id, created_at, id);
CREATE INDEX ix__clients__seen_at ON clients (seen_at);

-- A user signed in on a client. `status` is what somebody did to it; that it has expired since is seen
-- from the times.
CREATE TABLE sessions (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  status TEXT NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  abandon_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, client_id) REFERENCES clients (instance_id, id) ON DELETE CASCADE,
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__sessions__created_at ON sessions (instance_id, created_at, id);
CREATE INDEX ix__sessions__client_id ON sessions (instance_id, client_id, created_at);
CREATE INDEX ix__sessions__user_id ON sessions (instance_id, user_id, created_at);
CREATE INDEX ix__sessions__expire_at ON sessions (expire_at);

-- Browsers of people who develop an app: cookies do not reach across sites there, so the browser shows
-- this token instead. Kept by its digest.
CREATE TABLE dev_browsers (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  token_digest BYTEA NOT NULL,
  client_id TEXT,
  created_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, token_digest)
);
CREATE INDEX ix__dev_browsers__seen_at ON dev_browsers (seen_at);

-- What a handshake hands to a backend, fetched once by its nonce.
CREATE TABLE handshakes (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  nonce_digest BYTEA NOT NULL,
  directives_sealed BYTEA NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, nonce_digest)
);
CREATE INDEX ix__handshakes__expire_at ON handshakes (expire_at);

-- Attempts to sign in and to sign up: documents that belong to a client for a day.
CREATE TABLE sign_ins (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  document TEXT NOT NULL,
  abandon_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, client_id) REFERENCES clients (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__sign_ins__client_id ON sign_ins (instance_id, client_id);
CREATE INDEX ix__sign_ins__abandon_at ON sign_ins (abandon_at);

CREATE TABLE sign_ups (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  document TEXT NOT NULL,
  abandon_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, client_id) REFERENCES clients (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__sign_ups__client_id ON sign_ups (instance_id, client_id);
CREATE INDEX ix__sign_ups__abandon_at ON sign_ups (abandon_at);

-- A user is one document and the columns lists filter and order by, written together. `search_folded`
-- holds every text a user can be found by, a line each.
CREATE TABLE users (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  last_active_at BIGINT,
  last_sign_in_at BIGINT,
  banned BOOLEAN NOT NULL,
  external_id TEXT,
  first_name_folded TEXT,
  last_name_folded TEXT,
  primary_email_folded TEXT,
  primary_phone_folded TEXT,
  primary_wallet_folded TEXT,
  username_folded TEXT,
  emails_folded TEXT NOT NULL,
  phones_folded TEXT NOT NULL,
  names_folded TEXT NOT NULL,
  search_folded TEXT NOT NULL,
  CONSTRAINT uq__users__instance_id__id PRIMARY KEY (instance_id, id)
);
CREATE UNIQUE INDEX uq__users__instance_id__external_id ON users (instance_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX ix__users__created_at ON users (instance_id, created_at, id);

-- Who holds which identifier. `claim` is empty for a verified or reserved one, which only one user
-- may hold, and the row's own id for an unverified one, which several may.
CREATE TABLE identifications (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  value_folded TEXT NOT NULL,
  claim TEXT NOT NULL,
  CONSTRAINT uq__identifications__instance_id__id PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__identifications__instance_id__kind__value_folded__claim UNIQUE (instance_id, kind, value_folded, claim),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__identifications__user_id ON identifications (instance_id, user_id);

-- What proves a user: kept apart from the document, so that reading a user never touches it.
CREATE TABLE credentials (
  instance_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  password_digest TEXT,
  password_hasher TEXT,
  totp_secret_sealed BYTEA,
  totp_last_step BIGINT,
  backup_codes_sealed BYTEA,
  totp_pending_sealed BYTEA,
  PRIMARY KEY (instance_id, user_id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);

-- One-time codes that were sent to an address or a number.
CREATE TABLE verifications (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  identification_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  strategy TEXT NOT NULL,
  code_sealed BYTEA NOT NULL,
  attempts BIGINT NOT NULL,
  verified_at BIGINT,
  created_at BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__verifications__identification_id ON verifications (instance_id, identification_id, created_at);
CREATE INDEX ix__verifications__user_id ON verifications (instance_id, user_id);

-- Uploaded pictures. One belongs to the user it was uploaded for.
CREATE TABLE images (
  instance_id TEXT NOT NULL,
  id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  FOREIGN KEY (instance_id, user_id) REFERENCES users (instance_id, id) ON DELETE CASCADE
);
CREATE INDEX ix__images__user_id ON images (instance_id, user_id);

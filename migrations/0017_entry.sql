-- Invitations to the application. Of one address only one that nobody asked to stand beside others is pending: its `claim`
-- is empty; those that may stand beside it, and those whose time is over, have their own id there.
CREATE TABLE invitations (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  email_folded TEXT NOT NULL,
  search_folded TEXT NOT NULL,
  claim TEXT NOT NULL,
  status TEXT NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expire_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);
CREATE UNIQUE INDEX uq__invitations__instance_id__email_folded__claim ON invitations (instance_id, email_folded, claim)
  WHERE status = 'pending';
CREATE INDEX ix__invitations__created_at ON invitations (instance_id, created_at, id);
CREATE INDEX ix__invitations__expire_at ON invitations (instance_id, expire_at, id);
CREATE INDEX ix__invitations__email_folded ON invitations (instance_id, email_folded, id);

-- Addresses, wildcards of addresses, numbers and wallets that may enter (`list` is `allow`) or may not (`block`). Somebody
-- who enters is looked up by exact keys, so the order of the unique columns is that of the lookup.
CREATE TABLE listed_identifiers (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  list TEXT NOT NULL,
  identifier_folded TEXT NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id),
  CONSTRAINT uq__listed_identifiers__instance_id__identifier_folded__list UNIQUE (instance_id, identifier_folded, list)
);
-- Not with the instance first: without statistics PostgreSQL would look people up by it, entry by entry.
CREATE INDEX ix__listed_identifiers__created_at ON listed_identifiers (list, instance_id, created_at, id);

-- E-mails and text messages to people. `content_sealed` is what they say, with the code. `status` is
-- `queued` until a transport took it (`sent`) or none would (`failed`), and `held` where nothing is to be
-- sent: for test addresses, and where the application delivers by itself. One that cannot be sent by
-- `expire_at` is of no use any more. What waited before was never going to be sent.
DROP TABLE messages;
CREATE TABLE messages (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  user_id TEXT,
  identification_id TEXT,
  channel TEXT NOT NULL,
  recipient TEXT NOT NULL,
  slug TEXT NOT NULL,
  content_sealed BYTEA NOT NULL,
  status TEXT NOT NULL,
  attempts BIGINT NOT NULL,
  next_at BIGINT,
  leased_until BIGINT NOT NULL,
  failure TEXT,
  expire_at BIGINT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, id)
);
CREATE INDEX ix__messages__created_at ON messages (instance_id, created_at, id);
CREATE INDEX ix__messages__next_at ON messages (next_at) WHERE next_at IS NOT NULL;

-- Templates an instance changed, one for each locale. The empty locale is the one for everybody else;
-- only it carries whether the service delivers, which holds for all locales.
CREATE TABLE message_templates (
  instance_id TEXT NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
  channel TEXT NOT NULL,
  slug TEXT NOT NULL,
  locale TEXT NOT NULL,
  document TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (instance_id, channel, slug, locale)
);

-- Sessions that may still count, apart from those that have ended: people leave hundreds of those behind.
CREATE INDEX ix__sessions__live_of_client ON sessions (instance_id, client_id, created_at, id)
    WHERE status IN ('active', 'pending');
CREATE INDEX ix__sessions__live_of_user ON sessions (instance_id, user_id, created_at, id)
    WHERE status IN ('active', 'pending');
-- The messages to one recipient, whatever way they go.
CREATE INDEX ix__messages__recipient ON messages (instance_id, recipient, created_at, id);
DROP INDEX ix__messages__texts;
-- The key that an instance signs with now.
CREATE INDEX ix__signing_keys__newest ON signing_keys (instance_id, created_at DESC, kid);

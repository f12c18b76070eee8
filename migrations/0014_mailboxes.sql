-- The mailbox that an e-mail goes to which somebody in a browser asked for: the address without its case and without what
-- stands behind a `+`. How many it got of late is asked before another one is written. Other messages have none.
ALTER TABLE messages ADD COLUMN mailbox TEXT;
CREATE INDEX ix__messages__mailbox ON messages (instance_id, mailbox, created_at) WHERE mailbox IS NOT NULL;

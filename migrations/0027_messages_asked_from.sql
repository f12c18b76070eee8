-- The address from which a browser asked for a message that goes to somebody unknown to it. How many were asked for from there
-- in a day is asked before another one is written. Other messages have none.
ALTER TABLE messages ADD COLUMN asked_from TEXT;
CREATE INDEX ix__messages__asked_from ON messages (instance_id, asked_from, channel, created_at)
    WHERE asked_from IS NOT NULL;

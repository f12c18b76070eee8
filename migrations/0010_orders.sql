-- Indexes that have the whole order in which they are read. PostgreSQL may otherwise take another one that has it,
-- and keeps to that until it knows how large the tables have become.
DROP INDEX ix__sessions__client_id;
DROP INDEX ix__sessions__user_id;
CREATE INDEX ix__sessions__client_id ON sessions (instance_id, client_id, created_at, id);
CREATE INDEX ix__sessions__user_id ON sessions (instance_id, user_id, created_at, id);
CREATE INDEX ix__messages__due ON messages (instance_id, next_at, id) WHERE next_at IS NOT NULL;

CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX ix__users__search ON users USING gin (search_folded gin_trgm_ops);

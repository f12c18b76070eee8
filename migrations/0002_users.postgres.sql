CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX ix__users__search ON users USING gin (
  lower(id) gin_trgm_ops, emails_folded gin_trgm_ops, phones_folded gin_trgm_ops,
  username_folded gin_trgm_ops, wallets_folded gin_trgm_ops, names_folded gin_trgm_ops
);

-- Wallets that are requested together, and wallets that use the key of another one on another chain.
ALTER TABLE wallets ADD COLUMN opened_from text, ADD COLUMN batch_id text;
SELECT create_put_function('wallets');
CREATE INDEX wallets_opened_from ON wallets (opened_from) WHERE opened_from IS NOT NULL;
CREATE INDEX wallets_of_batch ON wallets (batch_id, wallet_id) WHERE batch_id IS NOT NULL;

-- The follower asks for each address of a block which wallets have it, on its chain and on others. With the address first one
-- look-up answers both.
CREATE INDEX wallets_at_address ON wallets (lower(address), chain_id);
DROP INDEX wallets_by_address;

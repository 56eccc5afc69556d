-- What the chain did with the token id of a voucher, by the contract's own log; NULL while nothing did.
ALTER TABLE nft_vouchers ADD COLUMN used_as text;
ALTER TABLE nft_vouchers ADD COLUMN used_by text;
ALTER TABLE nft_vouchers ADD COLUMN used_hash text;
ALTER TABLE nft_vouchers ADD COLUMN used_transaction_id text;
ALTER TABLE nft_vouchers ADD COLUMN used_block bigint;
SELECT create_put_function('nft_vouchers');
-- The follower undoes those above a block.
CREATE INDEX nft_vouchers_used ON nft_vouchers (chain_id, used_block) WHERE used_block IS NOT NULL;

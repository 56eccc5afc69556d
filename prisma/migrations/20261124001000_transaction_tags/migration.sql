-- What the fees of a transaction say of who signed it: the low 16 bits of the fee cap, then the low 16 bits of the tip. NULL for
-- rows of older versions, and for transactions of other types than EIP-1559.
ALTER TABLE outside_transactions ADD COLUMN tag bigint;
CREATE INDEX outside_transactions_by_tag ON outside_transactions (chain_id, address, tag);
SELECT create_put_function('outside_transactions');

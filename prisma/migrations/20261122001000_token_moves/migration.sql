-- What a token's own logs say that a transfer moved. Blocks from before were not looked at for it: null, as for what is no token.

ALTER TABLE transactions ADD COLUMN amount_moved numeric(78,0);

SELECT create_put_function('transactions');

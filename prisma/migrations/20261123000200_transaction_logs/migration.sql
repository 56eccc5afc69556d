-- The logs of the receipt, for kinds of transactions whose declaration asks for them: null for all others.

ALTER TABLE transactions ADD COLUMN logs jsonb;

SELECT create_put_function('transactions');

-- What a contract call does, as its caller described it.

ALTER TABLE transactions ADD COLUMN call jsonb;

SELECT create_put_function('transactions');

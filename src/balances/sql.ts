/** SQL about the table `balances`, for every folder that reads it. */

/** It stands behind FROM or JOIN, and is planned as the table itself. */
export const BALANCES = '(SELECT wallet_id, asset_id, tenant_id, balance, block_number FROM balances)'

/** SQL about the table `chain_cursors`, for every folder that reads it. */

/** It stands behind FROM or JOIN, and is planned as the table itself. */
export const CURSORS = '(SELECT chain_id, updated_at FROM chain_cursors)'

/**
 * Processes of a second installation on the database of a first one, with the checkpoint file of their own log: this log
 * never had those events, so nothing was restored, and no checkpoint of another log gets into the database.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { composeTakeCheckpoint } from '../../src/compose/auditor.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { composeWatchRestores } from '../../src/compose/restores.ts'
import { adoptTagKey } from '../../src/transactions/tag-key.ts'
import { withAudit } from '../support/audit.ts'
import { TAG_KEY } from '../support/config.ts'
import { keptLog } from '../support/kept-log.ts'
import { withService } from '../support/kit-service.ts'
import { runToItsEnd } from '../support/run-program.ts'

t.test('a checkpoint file of another log is one line at the start, and no evidence of a restore', async (t) => {
  const first = await withService(t)
  const { pool, log } = first
  await first.wallet()
  await adoptTagKey(log, [Buffer.from(TAG_KEY, 'base64')])
  const kernel = { pool, log, clock: Date.now, logger: keptLog().logger, config: loadConfig(first.env) }
  await (await composeTakeCheckpoint(kernel))()
  await composeWatchRestores(kernel).refusal('start')

  const elsewhere = await withAudit(t)
  await elsewhere.transfers(1)
  await elsewhere.takeCheckpoint()
  const own = {
    DATABASE_URL: first.env.DATABASE_URL,
    DATA_DIR: join(first.directory, 'second'),
    AUDIT_CHECKPOINT_FILE: elsewhere.checkpointFile,
    LOG_LEVEL: 'silent',
  }
  for (const TRANSACTION_TAG_KEY of [randomBytes(32).toString('base64'), TAG_KEY]) {
    const ended = await runToItsEnd('signer', { ...own, TRANSACTION_TAG_KEY })
    t.match(ended, { code: 1, complaint: /^[^\n]+\n$/ })
    const { rows } = await pool.query(`SELECT type FROM events WHERE stream_id LIKE 'database-%' ORDER BY position`)
    t.strictSame(
      rows.map(({ type }) => type),
      ['DatabaseIdentified'],
    )
  }
})

t.test(
  'an auditor with the checkpoint file of another log writes none of it into a log without checkpoints',
  async (t) => {
    const first = await withService(t)
    const { pool } = first
    await first.wallet()
    const elsewhere = await withAudit(t)
    await elsewhere.transfers(1)
    await elsewhere.takeCheckpoint()
    const takeAs = (settings: NodeJS.ProcessEnv) =>
      composeTakeCheckpoint({
        pool,
        clock: Date.now,
        logger: keptLog().logger,
        config: loadConfig({ ...first.env, ...settings }),
      })
    const second = await takeAs({ AUDIT_KEY_FILE: elsewhere.keyFile, AUDIT_CHECKPOINT_FILE: elsewhere.checkpointFile })
    await t.rejects(second(), { message: /were signed|is not consistent/ })
    t.equal((await pool.query('SELECT FROM audit_checkpoints')).rowCount, 0)
    t.match(await takeAs({}).then((take) => take()), { isNew: true }, 'the first auditor signs its log')
  },
)

t.test('after a restore the auditor goes on under a new name once the rows of the old one are removed', async (t) => {
  const { url, directory, keyFile, checkpointFile, pool, transfers, takeCheckpoint } = await withAudit(t)
  await transfers(2)
  await takeCheckpoint()
  const takeAs = (settings: NodeJS.ProcessEnv) =>
    composeTakeCheckpoint({
      pool,
      clock: Date.now,
      logger: keptLog().logger,
      config: loadConfig({ DATABASE_URL: url, DATA_DIR: join(directory, 'data'), ...settings }),
    })
  const anew = {
    AUDIT_KEY_FILE: join(directory, 'new.key'),
    AUDIT_CHECKPOINT_FILE: join(directory, 'new'),
    AUDIT_ORIGIN: 'example.com/new',
  }
  await t.rejects(takeAs(anew), { code: 'audit_key_missing' }, 'the rows are of the old name')
  await pool.query('DELETE FROM audit_checkpoints')
  t.match(await takeAs(anew).then((take) => take()), { isNew: true, origin: 'example.com/new' })
  const old = { AUDIT_KEY_FILE: keyFile, AUDIT_CHECKPOINT_FILE: checkpointFile, AUDIT_ORIGIN: 'example.com/test' }
  await t.rejects(
    takeAs(old).then((take) => take()),
    /not signed with the key of this auditor/,
  )
})

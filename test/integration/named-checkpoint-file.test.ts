/** A checkpoint file that the settings name must be there once a checkpoint was signed: `audit verify`, signer, auditor. */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { verifyCommand } from '../../src/audit/commands/verify-command.ts'
import { ALL_AGGREGATES } from '../../src/compose/capabilities.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { composeWatchRestores, requireWholeLog, warnOfMissingFile } from '../../src/compose/restores.ts'
import { withAudit } from '../support/audit.ts'
import { runCommandLine } from '../support/cli.ts'
import { keptLog } from '../support/kept-log.ts'
import { matchExactly } from '../support/match-exactly.ts'

t.test('audit verify proves nothing with a named file that is missing or has no checkpoint', async (t) => {
  const { url, keyFile, checkpointFile, directory, transfers, takeCheckpoint, pool } = await withAudit(t)
  const env = { DATABASE_URL: url, DATA_DIR: join(directory, 'data'), LOG_LEVEL: 'silent' }
  const command = (isCheckpointFileNamed: boolean) =>
    verifyCommand((task) =>
      task({
        databaseUrl: url,
        publicKeyFile: `${keyFile}.pub`,
        checkpointFile,
        isCheckpointFileNamed,
        chains: [],
        models: [],
        aggregates: ALL_AGGREGATES,
      }),
    )
  const verify = (isNamed: boolean, more = '') => runCommandLine([command(isNamed)], `audit verify ${more}`)
  const named = { AUDIT_CHECKPOINT_FILE: checkpointFile }
  await transfers(2)
  t.match(await verify(true), { code: 0, out: /No checkpoint was signed yet/ }, 'no checkpoint was signed')
  await takeCheckpoint()
  t.match(await verify(true), { code: 0, out: /checkpoints: 1\)|1 checkpoints agree/ })
  const kept = join(directory, 'kept')
  await rename(checkpointFile, kept)
  const refused = {
    code: 2,
    out: '',
    err: /^AUDIT_CHECKPOINT_FILE: [^\n]* has no checkpoint of this log: it is missing[^\n]*\n$/,
  }
  t.match(await verify(true), refused)
  t.match(await verify(false), { code: 0 }, 'no setting names it: the database alone is compared')
  t.match(await verify(true, `--checkpoints ${kept}`), { code: 0 })
  for (const content of ['', '<!doctype html>', '\0'.repeat(500)]) {
    await writeFile(checkpointFile, content)
    t.match(await verify(true), refused)
  }

  const { lines, logger } = keptLog()
  const kernel = (settings: NodeJS.ProcessEnv) => ({ config: loadConfig({ ...env, ...settings }), pool, logger })
  await warnOfMissingFile(kernel({}))
  await warnOfMissingFile(kernel({ AUDIT_CHECKPOINT_FILE: kept }))
  t.strictSame(lines, [])
  await warnOfMissingFile(kernel(named))
  matchExactly(t, lines, [
    { path: checkpointFile, msg: /is missing or has no checkpoint, although checkpoints were signed/ },
  ])
})

t.test('a checkpoint file that cannot be read ends the start of a signer with one line', async (t) => {
  const { url, directory, log, pool } = await withAudit(t)
  const place = join(directory, 'folder')
  await mkdir(place)
  const config = loadConfig({ DATABASE_URL: url, AUDIT_CHECKPOINT_FILE: place })
  const restores = composeWatchRestores({ config, pool, log, logger: keptLog().logger })
  await t.rejects(requireWholeLog(restores), {
    code: 'invalid_setting',
    message: `AUDIT_CHECKPOINT_FILE must be a file that can be read, not ${place}: EISDIR.`,
  })
})

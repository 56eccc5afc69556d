/** A new key for the auditor: the chain of checkpoints continues, and a retired key signs nothing more. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { openAuditKey } from '../../src/audit/checkpoints/audit-key.ts'
import { createCheckpointFile } from '../../src/audit/checkpoints/checkpoint-file.ts'
import { rotateAuditKey } from '../../src/audit/checkpoints/open-take-checkpoint.ts'
import { rotateAuditKeyCommand } from '../../src/audit/commands/rotate-key-command.ts'
import { signCheckpoint } from '../../src/audit/note/checkpoint.ts'
import { keyHistory } from '../../src/audit/note/key-history.ts'
import { composeTakeCheckpoint } from '../../src/compose/auditor.ts'
import { KNOWN_EVENTS } from '../../src/compose/capabilities.ts'
import { createLogger } from '../../src/logging.ts'
import { withAudit } from '../support/audit.ts'
import { runCommandLine } from '../support/cli.ts'
import { dyingAt } from '../support/dying-files.ts'

const logger = createLogger({ level: 'error', processName: 'test' })

/** The auditor's parts on a separate stage. */
async function rotating(t: Test) {
  const own = await withAudit(t)
  const { pool, keyFile, checkpointFile } = own
  const audit = { keyFile, origin: null, checkpointFile, isCheckpointFileNamed: true, checkpointIntervalMs: 1_000 }
  const parts = { pool, clock: Date.now, logger, config: { audit } }
  return { ...own, parts, rotate: () => rotateAuditKey(parts, KNOWN_EVENTS, () => undefined) }
}

t.test('the command rotates the key, and every checkpoint is verified with the key that signed it', async (t) => {
  const { pool, parts, signer, takeCheckpoint, transfers, verify, keyFile, directory, checkpointFile } =
    await rotating(t)
  await transfers(2)
  const { note: before } = await takeCheckpoint()
  const command = rotateAuditKeyCommand((task) =>
    task({
      rotateAuditKey: (onProgress) => rotateAuditKey(parts, KNOWN_EVENTS, onProgress),
      publicKeyFile: `${keyFile}.pub`,
    }),
  )
  const { code, out, err } = await runCommandLine([command], 'audit rotate-key --json')
  t.equal(code, 0, err)
  const told = JSON.parse(out)
  t.match(told, { old_key: signer.encoded, size: 6, completed_earlier: false })
  const after = await openAuditKey(parts.config.audit, async () => true)
  t.strictSame([told.new_key, after.name], [after.encoded, signer.name], 'the name of the log stays the same')
  t.equal(await readFile(`${keyFile}.pub`, 'utf8'), `${after.encoded}\n`)
  const [old = ''] = (await readdir(directory)).filter((name) => /^audit\.key\.[0-9a-f]{8}\.pub$/.test(name))
  t.equal(await readFile(`${directory}/${old}`, 'utf8'), `${signer.encoded}\n`)
  await t.rejects(
    takeCheckpoint(),
    { code: 'audit_key_rotated', retryable: true },
    'an auditor with the old key signs no more checkpoints',
  )
  await transfers(2)
  const taken = await (await composeTakeCheckpoint(parts))()
  t.match(taken, { size: 12, isNew: true })
  for (const key of [signer.encoded, after.encoded]) {
    t.match(await verify(`--key ${key}`), { code: 0, out: /intact.* 3 checkpoints agree/ }, 'the log is valid')
  }
  t.match(await verify(), { code: 0 })

  // Like an attacker who stole the old key afterwards and controls the database.
  const forged = signCheckpoint(taken, signer).note
  await pool.query('UPDATE audit_checkpoints SET note = $1 WHERE size = 12', [forged])
  for (const key of [signer.encoded, after.encoded]) {
    t.match(await verify(`--key ${key}`), { code: 1, err: /row 2 of audit_checkpoints is not signed with the key/ })
  }
  await pool.query('UPDATE audit_checkpoints SET note = $1 WHERE size = 12', [taken.note])
  await pool.query('UPDATE audit_checkpoints SET note = $1 WHERE size = 6', [before])
  t.match(await verify(), { code: 0 }, 'the file contains the handover too')
  await writeFile(checkpointFile, '')
  t.match(await verify(), { code: 1 }, 'without the handover the old key is not accepted')
})

t.test(
  'a rotation that dies before any step leaves an auditor that signs, and a second run completes it',
  async (t) => {
    const { parts, signer, transfers, verify, rotate, keyFile, checkpointFile } = await rotating(t)
    await transfers(1)
    const ended = { byOld: 0, byNew: 0 }
    for (let dieAt = 1, done = false; !done; dieAt += 1) {
      const before = await openAuditKey(parts.config.audit, async () => true)
      done = (await dyingAt(dieAt, rotate)).ended
      await transfers(1)
      t.match(await (await composeTakeCheckpoint(parts))(), { isNew: true }, `step ${dieAt} fails: the auditor signs`)
      const after = await openAuditKey(parts.config.audit, async () => true)
      ended[after.encoded === before.encoded ? 'byOld' : 'byNew'] += 1
      const notes = await createCheckpointFile(checkpointFile).notes()
      const keys = keyHistory(signer, notes)
      t.strictSame(
        notes.filter((note) => keys.open(note) === null),
        [],
        `killed before step ${dieAt}: the history verifies every note`,
      )
      if (after.encoded === before.encoded) {
        await rotate()
        t.not((await openAuditKey(parts.config.audit, async () => true)).encoded, before.encoded)
      }
      t.equal(
        await readFile(`${keyFile}.pub`, 'utf8'),
        `${(await openAuditKey(parts.config.audit, async () => true)).encoded}\n`,
      )
    }
    t.ok(ended.byOld > 3 && ended.byNew > 3, JSON.stringify(ended))
    for (const key of [`--key ${signer.encoded}`, '']) t.match(await verify(key), { code: 0 })
    t.equal((await readFile(checkpointFile, 'utf8')).split('rotated to').length - 1, ended.byOld + ended.byNew)
  },
)

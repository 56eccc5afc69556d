/** Commands and processes whose KEYSTORE_DIR hangs end with one line: system calls that never return do not hold them. */
import { join } from 'node:path'
import t from 'tap'
import { TAG_KEY } from '../support/config.ts'
import { mountHanging } from '../support/hanging-mount.ts'
import { withService } from '../support/kit-service.ts'
import { runToItsEnd } from '../support/run-program.ts'

t.test('each command and the signer give up a keystore that hangs, and say so in one line', async (t) => {
  const hanging = await mountHanging(t)
  if (hanging === undefined) {
    t.pass('a directory that hangs', { skip: 'NOT TESTED: mounting FUSE takes root and /dev/fuse' })
    return
  }
  const service = await withService(t)
  await service.wallet()
  t.match(await service.backUp(), { code: 0 })
  // A rotation waits for signers that run.
  await service.pool.query('DELETE FROM heartbeats')
  const env = { ...service.env, LOG_LEVEL: 'silent', KEYSTORE: 'directory', TRANSACTION_TAG_KEY: TAG_KEY }
  const own = (...args: readonly string[]) => args.join(' ')
  const lines = [
    own('recovery backup --out', join(service.directory, 'other'), '--recipient', service.recipient),
    own('recovery restore --kit', service.kit, '--identity', service.file),
    own('recovery restore --force --kit', service.kit, '--identity', service.file),
    'bursar keystore rotate-key',
    'mpc certificate --coordinator',
    'signer',
  ]
  for (const keystore of [hanging, join(hanging, 'below')])
    for (const line of lines) {
      const { code, out, complaint } = await runToItsEnd(line, { ...env, KEYSTORE_DIR: keystore })
      t.equal(out, '', line)
      t.match(
        complaint,
        /^(?:recovery: )?KEYSTORE_DIR [^\n]* must be a directory that answers: [^\n]* did not within 4 s\.\n$/,
      )
      t.equal(code, null, 'the process ends itself')
    }
})

t.test('a party whose directory hangs has no certificate, and a rotation of its key ends', async (t) => {
  const hanging = await mountHanging(t)
  if (hanging === undefined) {
    t.pass('a directory that hangs', { skip: 'NOT TESTED: mounting FUSE takes root and /dev/fuse' })
    return
  }
  const { env } = await withService(t)
  const party = { ...env, LOG_LEVEL: 'silent', MPC_PARTIES: '3', MPC_PARTY: '1', MPC_PARTY_DIR: hanging }
  for (const line of ['mpc certificate', 'bursar mpc rotate-key']) {
    const { code, complaint } = await runToItsEnd(line, party)
    t.match(complaint, /^MPC_PARTY_DIR [^\n]* must be a directory that answers: [^\n]* did not within 4 s\.\n$/, line)
    t.equal(code, null)
  }
})

/** What an mpc process reports about certificates when it starts. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Kernel } from '../../src/compose/kernel.ts'
import { publishCertificate } from '../../src/keys/mpc/trust.ts'
import { prepareTrust } from '../../src/mpc-wallets/prepare-trust.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { freshIdentity, listeningLog } from '../support/mpc-processes.ts'

const PEERS = ['party-2', 'party-3', 'coordinator']

async function prepared(t: Test, { sandbox }: { readonly sandbox: boolean }) {
  const trustDir = t.testdir()
  const { lines, log } = listeningLog()
  await publishCertificate(trustDir, await freshIdentity(t, 'party-2'))
  await writeFile(join(trustDir, 'party-3.crt'), 'half a certificate')
  const kernel = { config: { sandbox }, logger: log } as unknown as Pick<Kernel, 'config' | 'logger'>
  await prepareTrust(kernel, { trustDir, identity: await freshIdentity(t, 'party-1'), peers: PEERS })
  return { trustDir, lines, published: existsSync(join(trustDir, 'party-1.crt')) }
}

t.test(
  'in production no process publishes its certificate, and each missing one is reported with its file',
  async (t) => {
    const { trustDir, lines, published } = await prepared(t, { sandbox: false })
    t.notOk(published)
    matchExactly(t, lines, [
      { level: 'info', name: 'party-1', fingerprint: /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/ },
      { level: 'warn', peer: 'party-3', file: join(trustDir, 'party-3.crt'), message: /damaged/ },
      { level: 'warn', peer: 'coordinator', file: join(trustDir, 'coordinator.crt'), message: /missing/ },
    ])
    t.equal(lines.length, 3)
  },
)

t.test('in the sandbox each process publishes its own certificate', async (t) => {
  const { lines, published } = await prepared(t, { sandbox: true })
  t.ok(published)
  t.strictSame(lines, [])
})

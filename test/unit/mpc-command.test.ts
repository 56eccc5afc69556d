/** The operator command for mpc: a certificate for a file, a fingerprint for people, and an exit code. */
import { X509Certificate } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { openIdentityOf } from '../../src/compose/mpc-identity.ts'
import { Unavailable } from '../../src/core/errors.ts'
import { type IdentityOf, mpcProgram } from '../../src/mpc-wallets/mpc-program.ts'
import { runProgramLine } from '../support/cli.ts'

const KEY = Buffer.alloc(32, 7).toString('base64')
const OTHER_KEY = Buffer.alloc(32, 8).toString('base64')

const identityFrom =
  (env: NodeJS.ProcessEnv): IdentityOf =>
  (owner) =>
    openIdentityOf(env, owner)
const run = (line: string, identityOf: IdentityOf) => runProgramLine(mpcProgram(identityOf), line)

const nobody: IdentityOf = async () => {
  throw new Error('no identity is asked for')
}

t.test('a party shows the same certificate whenever it is asked, and makes it the first time', async (t: Test) => {
  const directory = t.testdir()
  const identityOf = identityFrom({ MPC_PARTY: '2', MPC_PARTY_DIR: directory, MPC_PARTY_KEY: KEY })
  const first = await run('certificate', identityOf)
  t.equal(first.code, 0)
  const certificate = new X509Certificate(first.out)
  t.equal(certificate.subject, 'CN=party-2')
  t.equal(first.err, `party-2.crt, SHA-256 fingerprint ${certificate.fingerprint256}\n`)
  t.strictSame(await run('certificate', identityOf), first)
  t.strictSame(await readdir(directory), ['party-2.mpc-identity.sealed.json'])
  t.notMatch(first.out, /PRIVATE/)
  t.strictSame(JSON.parse((await run('certificate --json', identityOf)).out), {
    name: 'party-2',
    fingerprint: certificate.fingerprint256,
    certificate: first.out,
  })
})

t.test(
  'the coordinator has the certificate of the keystore that all signers share, with no database',
  async (t: Test) => {
    const env = { KEYSTORE_DIR: t.testdir(), KEYSTORE_KEY: KEY, MPC_PARTY: '2', MPC_PARTY_DIR: t.testdir() }
    const { code, out } = await run('certificate --coordinator', identityFrom(env))
    t.equal(code, 0)
    t.equal(new X509Certificate(out).subject, 'CN=coordinator')
  },
)

t.test('an identity sealed with another key is not replaced', async (t: Test) => {
  const directory = t.testdir()
  const env = { MPC_PARTY: '2', MPC_PARTY_DIR: directory }
  await run('certificate', identityFrom({ ...env, MPC_PARTY_KEY: KEY }))
  const { code, out, err } = await run('certificate', identityFrom({ ...env, MPC_PARTY_KEY: OTHER_KEY }))
  t.equal(code, 3)
  t.equal(out, '')
  t.match(err, /key/)
})

t.test('settings that name no process are reported by name', async (t: Test) => {
  const party = await run('certificate', identityFrom({}))
  t.equal(party.code, 2)
  t.match(party.err, /^MPC_PARTY must be set/)
  const env = { KEYSTORE: 'postgres', KEYSTORE_KEY: KEY }
  const coordinator = await run('certificate --coordinator', identityFrom(env))
  t.equal(coordinator.code, 2)
  t.match(coordinator.err, /^DATABASE_URL must be set/)
})

t.test('an unknown command line changes nothing and prints the usage', async (t: Test) => {
  const { code, out } = await run('help', nobody)
  t.equal(code, 0)
  t.match(out, /^Usage: npm run mpc -- [\s\S]*certificate/)
  t.match(await run('certificate --help', nobody), { code: 0 })
  const wrong: [string, RegExp][] = [
    ['', /^Usage: npm run mpc/],
    ['trust', /unknown command 'trust'/],
    ['certificate 2', /too many arguments for 'certificate'/],
    ['certificate --party 2', /unknown option '--party'/],
    ['--coordinator', /unknown option '--coordinator'/],
  ]
  for (const [line, message] of wrong) {
    const { code, out, err } = await run(line, nobody)
    t.equal(code, 2, line)
    t.equal(out, '')
    t.match(err, message)
  }
})

t.test('an unavailable service has its own exit code, and an unexpected error is not caught', async (t: Test) => {
  const away = async () => {
    throw new Unavailable('keystore_key_missing', 'the key is missing')
  }
  t.match(await run('certificate', away), { code: 3, err: 'the key is missing\n' })
  await t.rejects(run('certificate', nobody), /no identity is asked for/)
})

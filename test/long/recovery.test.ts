/** docs/recovery.md on a running service, with its shell blocks run as printed; and who may export a key. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Transaction } from 'ethers'
import t from 'tap'
import { createIdentity } from '../../src/keys/age.ts'
import { findAge } from '../support/age.ts'
import { told } from '../support/client.ts'
import { AS_LONG_AS_MAY_BE, startSandbox } from '../support/e2e-sandbox.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const PAGE = fileURLToPath(new URL('../../docs/recovery.md', import.meta.url))
const COMMAND = fileURLToPath(new URL('../../dist/bin/recovery.js', import.meta.url))
const SINK = '0x000000000000000000000000000000000000dEaD'
/** Three parties create a key meanwhile, on a machine that may be busy. */
const DRILL_MS = 600_000

const sandbox = await startSandbox(t)
const { client, state, rpc } = sandbox

/** Runs every shell block of the page, one after the other, in one shell. */
async function paste(directory: string): Promise<{ readonly out: string; readonly err: string }> {
  const blocks = [...(await readFile(PAGE, 'utf8')).matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
    ([, block]) => block ?? '',
  )
  // `npm run` would only add a build that exists already; the reader's directory is the project with its data.
  await mkdir(join(directory, 'bin'))
  const npm = `#!/bin/sh\nshift 4\nexec "${process.execPath}" "${COMMAND}" "$@"\n`
  await writeFile(join(directory, 'bin', 'npm'), npm, { mode: 0o755 })
  await symlink(join(sandbox.service.directory, 'data'), join(directory, '.data'))
  const env = { PATH: `${join(directory, 'bin')}:${process.env.PATH}`, URL: state.base_url, KEY: state.api_key }
  return new Promise((resolve, reject) => {
    execFile('bash', ['-eu', '-c', blocks.join('\n')], { cwd: directory, env, timeout: DRILL_MS }, (error, out, err) =>
      error === null ? resolve({ out, err }) : reject(new Error(`${out}\n${err}`, { cause: error })),
    )
  })
}

t.test('the drill restores every wallet from a kit, and two parts move the funds with no service', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-drill-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const { out, err } = await paste(directory)
  t.match(out, /kit: hd, party-1, party-2, party-3 written/)
  t.match(out, /0x\w{40} +mpc +ethereum mainnet +ok +party-1 party-2 party-3/)
  t.match(out, /(\d+) of \1 wallets can be restored from these parts/)
  const swept = JSON.parse(await readFile(join(directory, 'swept.json'), 'utf8'))
  matchExactly(t, swept, {
    parts: ['party-1', 'party-3'],
    to: SINK,
    from: Transaction.from(swept.raw_transaction).from,
  })
  const arrived = await eventually(async () => {
    const balance = BigInt((await rpc('ethereum', 'eth_getBalance', [SINK, 'latest'])) as string)
    return balance > 0n && balance
  })
  t.equal(String(arrived), swept.value, 'the funds arrived, less the gas')
  const identity = (await readFile(join(directory, 'identity.txt'), 'utf8')).split('\n')[2] ?? '-'
  t.notOk(`${out}${err}`.includes(identity), 'no secret is printed')
  const age = findAge()
  if (age === null) return
  const key = JSON.parse(age(join(directory, 'identity.txt'), await readFile(join(directory, 'key.age'))))
  const { address } = (await client.get(`/v1/wallets/${key.wallet_id}`)).body.data
  t.match(key, { format: 'bursar exported key', address, private_key: /^0x[0-9a-f]{64}$/ })
  for (const name of ['signer', 'api']) {
    const log = await readFile(join(sandbox.service.directory, 'data', 'logs', `${name}.log`), 'utf8')
    t.match(log, /wallet key exported|export of a wallet key requested/)
    for (const secret of [key.private_key.slice(2), 'AGE ENCRYPTED']) t.notOk(log.includes(secret), name)
  }
})

t.test('the API exports a key only to an allowed recipient', async (t) => {
  const { recipient } = await createIdentity()
  const { path } = await sandbox.wallet(client, 'ethereum')
  const everything = await sandbox.keys('issue', '--tenant', 'demo', '--environment', 'mainnet')
  const refused = await sandbox.clientOf(everything.api_key).post(`${path}/export`, { recipient })
  t.strictSame([refused.status, ...told(refused)], [403, '- insufficient_scope'], 'a key with all scopes is refused')
  const answer = await client.post(`${path}/export`, { recipient }, AS_LONG_AS_MAY_BE)
  t.equal(answer.status, 201, answer.text)
  const { ciphertext, export_id } = answer.body.data
  t.equal((await client.get(`${path}/exports/${export_id}`)).body.data.ciphertext, ciphertext)
  const [rows] = await sandbox.query("SELECT string_agg(data::text, '') AS data FROM events WHERE stream_id = $1", [
    `export-${export_id}`,
  ])
  t.match(rows?.data, /ciphertextSha256/)
  t.notMatch(rows?.data, /AGE ENCRYPTED/, 'the log does not contain the file')
  const { body } = await client.post('/v1/wallets/create', { type: 'mpc', network: 'polygon' })
  const ofMpc = await client.post(`/v1/wallets/${body.data.wallet_id}/export`, { recipient })
  t.strictSame([ofMpc.status, ...told(ofMpc)], [422, 'wallet_id mpc_not_exportable'])
})

t.end()

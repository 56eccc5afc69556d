/**
 * A signer that starts without the keystore that created the wallets: with an empty one, or another installation's.
 * Nothing is signed with another key, no wallet is created that the right keystore does not have, and everything
 * continues when that one is back.
 */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createIssueApiKey } from '../../src/access/issue-api-key.ts'
import { bursarCommands } from '../../src/compose/bursar.ts'
import { openDirectoryKeystore } from '../../src/keys/directory-keystore.ts'
import { parseKek } from '../../src/keys/kek.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'
import { runCommandLine } from '../support/cli.ts'
import { accepted, type Client, createClient } from '../support/client.ts'
import type { LoadWallet } from '../support/load.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, withStage } from '../support/service-stage.ts'

const stage = await withStage(t, { env: { KEYSTORE: 'directory' } })
const { service } = stage
const [payer, other] = (await service.makeWallets(2)) as [LoadWallet, LoadWallet]
const keystore = join(String(service.env.DATA_DIR), 'keystore')
const away = `${keystore}.away`

/** Stops the signer, replaces its keystore directory, and starts it. */
async function loseKeystore(t: Test, prepare: () => Promise<unknown> = async () => undefined): Promise<void> {
  await service.stopWorker('signer')
  await rename(keystore, away)
  await mkdir(keystore, { mode: 0o700 })
  t.teardown(putBack)
  await prepare()
}

/** While a signer runs. */
async function putBack(): Promise<void> {
  if (!(await readdir(join(keystore, '..'))).includes('keystore.away')) return
  await rm(keystore, { recursive: true })
  await rename(away, keystore)
}

async function request(api: Client, key: string): Promise<string> {
  return accepted(await api.send('/v1/wallets/create', { network: 'ethereum', type: 'hd' }, key)).wallet_id
}

const addressOf = async (api: Client, id: string): Promise<string | null> =>
  (await api.insist({ path: `/v1/wallets/${id}` })).body.data.address ?? null

/** The next step that `stuck` shows when it reports the keystore. */
const reported = () =>
  eventually(async () => {
    const { out } = await runCommandLine(await bursarCommands(service.env), 'stuck --json')
    const { findings } = JSON.parse(out) as { findings: { kind: string; problem: string }[] }
    return findings.find(({ kind }) => kind === 'keystore_wrong')?.problem
  })

const logged = (pattern: RegExp) => eventually(() => service.lines.some(({ reason }) => pattern.test(String(reason))))

t.test('with an empty keystore everything waits, no seed is made, and the right one continues the work', async (t) => {
  const { token } = await createIssueApiKey(service.kernel)(
    { tenantId: 'globex', environment: 'mainnet' },
    { actor: 'operator' },
  )
  const globex = createClient(service.baseUrl, token)
  await loseKeystore(t)
  const transfer = await stage.send(payer, '0.5')
  await service.startWorker('signer')
  const wallets = [
    { api: service.api, id: await request(service.api, 'while-lost') },
    { api: globex, id: await request(globex, 'first-of-its-tenant') },
  ]
  await logged(/no seed of tenant acme/)
  await logged(/it creates none for tenant globex/)
  t.match(
    await reported(),
    /The keystore has no seed of (tenant acme|any tenant that has wallets).*[Tt]ransfers and signatures wait/,
  )
  t.strictSame(
    (await readdir(keystore)).filter((name) => name.includes('seed')),
    [],
    'the signer creates no seed',
  )
  t.match(await stage.read(payer, transfer), { state: 'requested', hash: null })
  for (const { api, id } of wallets) t.equal(await addressOf(api, id), null, 'the wallet has no address')

  await putBack()
  await stage.until(payer, transfer, 'submitted')
  await stage.settle()
  t.match(await stage.read(payer, transfer), { state: 'confirmed' })
  const addresses = [payer.address, other.address]
  for (const { api, id } of wallets) addresses.push(await eventually(() => addressOf(api, id)))
  t.equal(new Set(addresses).size, 4, 'each wallet has its own address')
  await eventually(async () => {
    const { out } = await runCommandLine(await bursarCommands(service.env), 'stuck --json')
    return !out.includes('keystore_wrong')
  })
})

t.test('the seed of another installation signs nothing and makes no wallet', async (t) => {
  await loseKeystore(t, async () => {
    const kek = parseKek(String(service.env.KEYSTORE_KEY))
    const seeds = await openTenantSeeds({ keystore: await openDirectoryKeystore(keystore), kek })
    await seeds.loadOrCreate('acme')
  })
  const before = (await onChain(stage, other)).length
  const transfer = await stage.send(other, '0.25')
  await service.startWorker('signer')
  const wallet = await request(service.api, 'on-another-seed')
  await logged(/a different seed of tenant acme/)
  t.match(await reported(), /a different seed of tenant acme/)
  t.match(await stage.read(other, transfer), { state: 'requested', hash: null })
  t.equal(await addressOf(service.api, wallet), null)
  await putBack()
  await stage.until(other, transfer, 'submitted')
  await stage.settle()
  t.match(await stage.read(other, transfer), { state: 'confirmed' })
  t.equal((await onChain(stage, other)).length, before + 1, 'the transfer is paid once')
  t.ok(await eventually(() => addressOf(service.api, wallet)))
})

t.end()

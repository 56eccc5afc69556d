/** The kit of hd wallets: the drill of docs/recovery.md on a real chain, and every way in which a kit can be wrong. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HDNodeWallet, Mnemonic, Transaction } from 'ethers'
import t from 'tap'
import { loadConfig } from '../../src/compose/load-config.ts'
import { openKeystore } from '../../src/compose/open-keystore.ts'
import { armored } from '../../src/keys/age.ts'
import { createHdSigner } from '../../src/keys/hd.ts'
import { openTenantSeeds } from '../../src/keys/tenant-seeds.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { findAge } from '../support/age.ts'
import { withAnvil } from '../support/anvil.ts'
import { GWEI, RECIPIENT, sweep, withService } from '../support/kit-service.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { makeIdentity, OFFLINE, recoveryOf, runRecovery } from '../support/recovery.ts'
import { eventually } from '../support/sandbox-eventually.ts'

t.test('the drill: a kit is made, proven, and moves all that a wallet holds with no service there', async (t) => {
  const service = await withService(t)
  const { kit, seeds, directory } = service
  const { address } = await service.wallet()
  await service.wallet('globex')
  const made = await service.backUp()
  t.match(made, { code: 0, err: '', out: /hd written; wallets in kit\.json: 2\n/ })

  const proven = await service.verify()
  t.match(proven, { code: 0, err: '' }, proven.out)
  t.match(proven.out, new RegExp(`${address} +hd +ethereum mainnet +ok +hd\n`))
  t.match(proven.out, /2 of 2 wallets can be restored/)

  const chain = await withAnvil(t)
  const balance = 10n ** 18n
  await callRpc(chain.url, 'anvil_setBalance', [address, `0x${balance.toString(16)}`])
  const before = BigInt((await callRpc(chain.url, 'eth_getBalance', [RECIPIENT, 'latest'])) as string)
  const swept = await sweep(service, address, 1000001, '--balance', `${balance}`, '--json')
  t.equal(swept.code, 0, swept.err)
  const { raw_transaction: raw, hash } = JSON.parse(swept.out) as Record<string, string>
  t.match(Transaction.from(raw ?? ''), { from: address, to: RECIPIENT, value: balance - 63_000n * GWEI })
  t.equal(await callRpc(chain.url, 'eth_sendRawTransaction', [raw]), hash)
  await callRpc(chain.url, 'evm_mine', [])
  const receipt = await eventually(() => callRpc(chain.url, 'eth_getTransactionReceipt', [hash]))
  t.match(receipt, { status: '0x1' })
  const after = BigInt((await callRpc(chain.url, 'eth_getBalance', [RECIPIENT, 'latest'])) as string)
  t.equal(after - before, balance - 63_000n * GWEI)

  const entropies = await Promise.all(['acme', 'globex'].map(seeds.load))
  const secrets = entropies.flatMap((entropy) => [
    Buffer.from(entropy).toString('hex'),
    Mnemonic.fromEntropy(entropy).phrase.slice(0, 20),
  ])
  const identity = (await readFile(service.file, 'utf8')).split('\n').at(2) ?? '-'
  const shown =
    [made, proven, swept].map((ran) => JSON.stringify(ran)).join() + (await readFile(join(kit, 'kit.json'), 'utf8'))
  for (const secret of [...secrets, identity]) t.notOk(shown.includes(secret), 'no secret is printed or in kit.json')
  for (const path of [join(kit, 'hd.age'), join(kit, 'kit.json'), service.file])
    t.equal((await stat(path)).mode & 0o777, 0o600)
  t.equal((await stat(kit)).mode & 0o777, 0o700)
  t.strictSame((await readdir(kit)).toSorted(), ['hd.age', 'kit.json'])
  t.ok((await readdir(directory)).every((name) => !name.endsWith('.tmp')))
})

const age = findAge()
t.test(
  'the age program opens the part, and its words are a wallet anywhere',
  { skip: age === null && 'no age program' },
  async (t) => {
    const service = await withService(t)
    const { address } = await service.wallet()
    await service.wallet('globex')
    t.equal((await service.backUp()).code, 0)
    const part = JSON.parse(age?.(service.file, await readFile(join(service.kit, 'hd.age'))) ?? '{}')
    matchExactly(t, part, {
      format: 'bursar recovery part',
      version: 1,
      part: 'hd',
      seeds: [{ tenant: 'acme' }, { tenant: 'globex' }],
    })
    const { words, account_path } = part.seeds[0]
    t.equal(words.split(' ').length, 24)
    t.equal(HDNodeWallet.fromPhrase(words, '', `${account_path}/0`).address, address)
  },
)

t.test('each recipient opens the kit, which holds only one tenant on request', async (t) => {
  const service = await withService(t)
  await service.wallet()
  await service.wallet('globex')
  const second = await makeIdentity(service.directory, 'second.txt')
  t.equal((await service.backUp('--recipient', second.recipient, '--tenant', 'globex')).code, 0)
  const verdict = await runRecovery(OFFLINE, ['verify', '--kit', service.kit, '--identity', second.file, '--json'])
  matchExactly(t, JSON.parse(verdict.out), { ok: true, wallets: [{ ok: true, parts: ['hd'] }], problems: [] })
  const others = await service.verify('--against-database')
  t.equal(others.code, 1)
  t.match(others.out, /FAILED.*the part hd has no seed of tenant acme/)
})

t.test('a part that was made text, as age does for mail, is the same part', async (t) => {
  const service = await withService(t)
  await service.wallet()
  await service.backUp()
  const path = join(service.kit, 'hd.age')
  await writeFile(path, `\n${armored(await readFile(path))}`)
  t.match(await service.verify(), { code: 0, out: /1 of 1 wallets can be restored/ })
})

t.test('an existing kit is overwritten only on request', async (t) => {
  const service = await withService(t)
  await service.wallet()
  await service.backUp()
  const before = await readFile(join(service.kit, 'hd.age'))
  t.match(await service.backUp(), { code: 1, out: '', err: /hd\.age already exists: use another --out, or --force/ })
  t.ok(before.equals(await readFile(join(service.kit, 'hd.age'))))
  await service.wallet()
  t.equal((await service.backUp('--force')).code, 0)
  t.match(await service.verify(), { code: 0, out: /2 of 2 wallets can be restored/ })
  t.match(await runRecovery(OFFLINE, ['keygen', '--out', service.file]), { code: 1, err: /never overwrites/ })
})

t.test('a kit also restores a wallet created after it', async (t) => {
  const service = await withService(t)
  const first = await service.wallet()
  await service.backUp()
  const later = await service.wallet()
  t.match(await service.verify(), { code: 0, out: /1 of 1 wallets can be restored/ })
  const now = await service.verify('--against-database')
  t.equal(now.code, 0, now.out)
  t.match(now.out, new RegExp(`${later.address}.*ok.*created after the kit`))
  const swept = await sweep(service, later.address, 1, '--value', '1', '--json')
  t.equal(Transaction.from(JSON.parse(swept.out).raw_transaction).from, later.address)
  const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
  const ofToken = await sweep(service, first.address.toLowerCase(), 1, '--token', token, '--amount', '7', '--json')
  const { to, data, value } = Transaction.from(JSON.parse(ofToken.out).raw_transaction)
  t.strictSame([to, value, data.slice(0, 10), BigInt(`0x${data.slice(-64)}`)], [token, 0n, '0xa9059cbb', 7n])
  const call = await sweep(service, first.address, 1, '--data', '0xAB', '--value', '2')
  t.match(call, { code: 0, out: /data +0xab\n.*eth_sendRawTransaction/s })
})

t.test('a sweep without enough funds is refused with what is missing', async (t) => {
  const service = await withService(t)
  const { address } = await service.wallet()
  await service.backUp()
  t.match(await sweep(service, address, 1, '--balance', `${63_000n * GWEI}`), {
    code: 1,
    err: /does not cover the gas/,
  })
  const stranger = await sweep(service, RECIPIENT, 1, '--value', '1')
  t.match(stranger, { code: 1, err: /is not in any opened part, nor among the first 10000 keys/ })
  const other = await makeIdentity(service.directory, 'other.txt')
  const closed = await sweep({ ...service, file: other.file }, address, 1, '--value', '1')
  t.match(closed, { code: 1, out: '', err: /the part hd is needed; .*hd\.age: none of the given identities/ })
})

t.test('a changed kit fails its verification, and the changed part is named', async (t) => {
  const service = await withService(t)
  const { address } = await service.wallet()
  await service.backUp()
  const [partPath, manifestPath] = [join(service.kit, 'hd.age'), join(service.kit, 'kit.json')]
  const [part, manifest] = [await readFile(partPath), await readFile(manifestPath, 'utf8')]
  const restore = () => Promise.all([writeFile(partPath, part), writeFile(manifestPath, manifest)])
  const flipped = Buffer.from(part)
  flipped[part.length - 1] = (flipped[part.length - 1] ?? 0) ^ 1
  const cases: readonly [string, () => Promise<unknown>, RegExp][] = [
    ['a flipped bit', () => writeFile(partPath, flipped), /hd\.age: the file is damaged: its SHA-256/],
    ['half a file', () => writeFile(partPath, part.subarray(0, 100)), /hd\.age: the file is damaged/],
    ['no file', () => rm(partPath), /hd\.age: the file is missing/],
    ['another address', () => writeFile(manifestPath, manifest.replaceAll(address, RECIPIENT)), /gives 0x.* at m\/44/],
    ['another index', () => writeFile(manifestPath, manifest.replace('"index": 0', '"index": 1')), /gives 0x/],
    [
      'no wallets',
      () => writeFile(manifestPath, JSON.stringify({ ...JSON.parse(manifest), wallets: [] })),
      /nothing was verified/,
    ],
  ]
  for (const [name, spoil, told] of cases) {
    await spoil()
    const { code, out } = await service.verify()
    t.equal(code, 1, name)
    t.match(out, told, name)
    await restore()
  }
  t.equal((await service.verify()).code, 0)
  for (const text of ['{', '{}', manifest.replace('"version": 1', '"version": 2')]) {
    await writeFile(manifestPath, text)
    t.match(await service.verify(), { code: 1, err: /kit\.json is damaged, or its version is newer/ })
  }
  await rm(manifestPath)
  t.match(await service.verify(), { code: 1, err: /is not a recovery kit: it has no kit\.json/ })
})

t.test('an identity is read from standard input too, and an invalid one is refused without repeating it', async (t) => {
  const service = await withService(t)
  await service.wallet()
  await service.backUp()
  const args = ['verify', '--kit', service.kit, '--identity', '-']
  const text = await readFile(service.file, 'utf8')
  t.equal((await runRecovery(OFFLINE, args, async () => text)).code, 0)
  const mistyped = text.replace(/(AGE-SECRET-KEY-1.{20})./, '$11')
  const bad = await runRecovery(OFFLINE, args, async () => mistyped)
  t.match(bad, { code: 1, out: '', err: /standard input: line 3 is not an age identity/ })
  t.notMatch(bad.err, /AGE-SECRET-KEY-1[A-Z0-9]/)
  t.match(await runRecovery(OFFLINE, ['verify', '--kit', service.kit, '--identity', join(service.directory, 'none')]), {
    code: 1,
    err: /ENOENT.*none/,
  })
})

t.test('no kit is written from a keystore that did not make the wallets', async (t) => {
  const service = await withService(t)
  const { id } = await service.wallet()
  const foreign = recoveryOf({ ...service.env, KEYSTORE_DIR: join(service.directory, 'foreign') })
  const args = ['backup', '--out', service.kit, '--recipient', service.recipient]
  t.match(await runRecovery(foreign, args), {
    code: 1,
    err: /This machine has neither a keystore nor the shares of an mpc party/,
  })
  t.match(await runRecovery(foreign, [...args, '--part', 'hd']), { code: 1, err: /This machine has no keystore/ })
  t.match(await runRecovery(foreign, [...args, '--part', 'party-1']), { code: 1, err: /have the shares of party-1/ })
  const config = loadConfig({ ...service.env, KEYSTORE_DIR: join(service.directory, 'foreign') })
  const seeds = await openTenantSeeds(await openKeystore({ config, pool: service.pool }))
  await seeds.loadOrCreate('globex')
  t.match(await runRecovery(foreign, args), { code: 3, err: /no seed of tenant acme/ })
  await seeds.loadOrCreate('acme')
  t.match(await runRecovery(foreign, args), { code: 1, err: new RegExp(`does not give the address of ${id}`) })
  const wrongKey = recoveryOf({ ...service.env, KEYSTORE_KEY: randomBytes(32).toString('base64') })
  t.match(await runRecovery(wrongKey, args), { code: 3, err: /KEYSTORE_KEY/ })
  t.notOk((await readdir(service.directory)).includes('kit'), 'no kit was written')
})

t.test('a keystore that is lost gets its seeds back, and one that has others keeps them', async (t) => {
  const service = await withService(t)
  const { address } = await service.wallet()
  await service.wallet('globex')
  await service.backUp()
  const lost = { ...service.env, KEYSTORE_DIR: join(service.directory, 'new') }
  const places = ['--kit', service.kit, '--identity', service.file]
  const restore = (env: NodeJS.ProcessEnv, ...more: string[]) =>
    runRecovery(recoveryOf(env), ['restore', ...places, ...more])
  t.match(await restore(lost, '--tenant', 'acme', '--json'), {
    code: 0,
    out: /^\{"restored":\["acme"\],"unchanged":\[\],"signatures"/,
  })
  t.match(await restore(lost), { code: 0, out: /^globex: seed restored\nacme: seed already exists\n/ })
  const opened = await openKeystore({ config: loadConfig(lost), pool: service.pool })
  const signer = createHdSigner({ seeds: await openTenantSeeds(opened) })
  const key = { kind: 'hd', tenantId: 'acme', index: 0 } as const
  t.equal((await signer.createKey(key)).address, address, 'the signer derives the same address as before')
  const other = { ...service.env, KEYSTORE_DIR: join(service.directory, 'other') }
  const seeds = await openTenantSeeds(await openKeystore({ config: loadConfig(other), pool: service.pool }))
  const before = await seeds.loadOrCreate('acme')
  t.match(await restore(other), { code: 1, err: /a different seed of tenant acme.*was not replaced/ })
  t.strictSame(await seeds.load('acme'), before)
  await service.pool.query(
    `UPDATE wallets SET address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' WHERE tenant_id = 'acme'`,
  )
  const third = { ...service.env, KEYSTORE_DIR: join(service.directory, 'third') }
  const refused = await restore(third, '--tenant', 'acme')
  t.match(refused, { code: 1, err: /seed of tenant acme in the kit created none of its wallets here.*--force/ })
  t.match(await restore(third, '--tenant', 'acme', '--force'), { code: 0, out: /^acme: seed restored\n/ })
  t.match(await restore(other, '--tenant', 'nobody'), { code: 1, err: /opened parts have no seed of tenant nobody/ })
})

t.test('a directory that cannot be created is reported by its path', async (t) => {
  const service = await withService(t)
  await service.wallet()
  const within = join(service.file, 'kit')
  const args = ['backup', '--out', within, '--recipient', service.recipient]
  t.match(await runRecovery(recoveryOf(service.env), args), { code: 1, out: '', err: /ENOTDIR.*kit/ })
})
